/* One instance of an application of Kafka Streams with the streams protocol: counts words. Lines of one topic are split,
   sent through a repartition topic, counted in a store with a changelog, and the counts are written to another topic.
   Prints the state it is in, and the tasks of its threads twice a second; ends when its input ends.
   java -cp 'libs/*' WordCount.java HOST:PORT APPLICATION STATE_DIRECTORY LINES COUNTS [setting=value ...] */

import java.util.Arrays;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.TaskMetadata;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

public class WordCount {
    public static void main(String[] words) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", words[0]);
        settings.put("application.id", words[1]);
        settings.put("state.dir", words[2]);
        settings.put("group.protocol", "streams");
        settings.put("processing.guarantee", "exactly_once_v2");
        settings.put("commit.interval.ms", "200");
        settings.put("auto.offset.reset", "earliest");
        for (int i = 5; i < words.length; i++) {
            String[] pair = words[i].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        var strings = Serdes.String();
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(words[3], Consumed.with(strings, strings))
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.<String, String>as("words").withKeySerde(strings).withValueSerde(strings))
            .count(Materialized.as("counts"))
            .toStream()
            .to(words[4], Produced.with(strings, Serdes.Long()));
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.setStateListener((now, before) -> System.out.println("state " + now));
        Thread end = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { }
            } catch (Exception problem) {
                System.out.println("input: " + problem);
            }
            streams.close();
            System.out.println("closed");
            System.exit(0);
        });
        streams.start();
        end.start();
        String before = "";
        while (end.isAlive()) {
            TreeSet<String> tasks = new TreeSet<>();
            streams.metadataForLocalThreads().forEach(thread -> {
                for (TaskMetadata task : thread.activeTasks()) tasks.add("+" + task.taskId());
                for (TaskMetadata task : thread.standbyTasks()) tasks.add("~" + task.taskId());
            });
            String now = String.join(" ", tasks);
            if (!now.equals(before)) System.out.println("tasks " + (before = now));
            Thread.sleep(500);
        }
    }
}
