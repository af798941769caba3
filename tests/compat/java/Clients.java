/* Walks through what the Java clients do that other clients do not, or do differently: transactions, exactly once from
   topic to topic, and the group protocol of KIP-848. Prints one line per step; the exit status says whether all passed.
   Runs against any broker: java -cp 'libs/*' Clients.java HOST:PORT */

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.*;

public class Clients {
    static final String ID = Long.toString(System.nanoTime(), 36);
    static final String IN = "in-" + ID;
    static final int RECORDS = 300;
    static final long START = 1_700_000_000_000L;
    static String bootstrap;
    static Admin admin;
    static int failed = 0;

    interface Step { Object run() throws Exception; }

    static void step(String name, Step step) {
        try {
            System.out.println("ok " + name + ": " + step.run());
        } catch (Throwable problem) {
            failed++;
            System.out.println("FAILED " + name + ": " + problem);
            problem.printStackTrace(System.out);
        }
    }

    static void check(boolean holds, Object seen) {
        if (!holds) throw new AssertionError(String.valueOf(seen));
    }

    static Map<String, Object> settings(Object... pairs) {
        Map<String, Object> map = new HashMap<>(Map.of("bootstrap.servers", bootstrap));
        for (int i = 0; i < pairs.length; i += 2) map.put((String) pairs[i], pairs[i + 1]);
        return map;
    }

    static KafkaProducer<String, String> producer(Object... pairs) {
        return new KafkaProducer<>(settings(pairs), new StringSerializer(), new StringSerializer());
    }

    static KafkaConsumer<String, String> consumer(Object... pairs) {
        Map<String, Object> map = settings(pairs);
        map.put("auto.offset.reset", "earliest");
        return new KafkaConsumer<>(map, new StringDeserializer(), new StringDeserializer());
    }

    static List<ConsumerRecord<String, String>> read(KafkaConsumer<String, String> consumer, int count) {
        List<ConsumerRecord<String, String>> records = new ArrayList<>();
        long end = System.currentTimeMillis() + 15_000;
        while (records.size() < count && System.currentTimeMillis() < end)
            consumer.poll(Duration.ofMillis(100)).forEach(records::add);
        return records;
    }

    static List<String> committed(String topic, int count) {
        try (var consumer = consumer("isolation.level", "read_committed")) {
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            return read(consumer, count).stream().map(ConsumerRecord::value).collect(Collectors.toList());
        }
    }

    static String topic(String name) throws Exception {
        admin.createTopics(List.of(new NewTopic(name + "-" + ID, 1, (short) 1))).all().get();
        return name + "-" + ID;
    }

    public static void main(String[] words) throws Exception {
        bootstrap = words[0];
        admin = Admin.create(settings());
        step("produce", Clients::produce);
        step("fields of a record", Clients::fields);
        step("offsets by time", Clients::offsetsByTime);
        for (String protocol : List.of("classic", "consumer")) {
            step(protocol + ": two members share a topic", () -> share(protocol));
            step(protocol + ": exactly once", () -> exactlyOnce(protocol));
        }
        step("consumer: subscription by pattern", Clients::pattern);
        step("consumer: a classic group migrates", Clients::migrate);
        step("commit and abort", Clients::commitAndAbort);
        step("a second producer fences the first", Clients::fence);
        step("an administrator ends a transaction", Clients::abort);
        step("topics by id", Clients::topicsById);
        admin.close();
        System.exit(failed == 0 ? 0 : 1);
    }

    static Object produce() throws Exception {
        // Its records are years old: by default the first retention pass, half a minute after the start, would take them.
        var topic = new NewTopic(IN, 3, (short) 1).configs(Map.of("retention.ms", "-1"));
        admin.createTopics(List.of(topic)).all().get();
        RecordMetadata last = null;
        try (var producer = producer()) {
            for (int i = 0; i < RECORDS; i++) {
                var headers = List.<org.apache.kafka.common.header.Header>of(new RecordHeader("h", null));
                last = producer.send(new ProducerRecord<>(IN, i % 3, START + i, "k" + i, i == 0 ? null : "v" + i, headers)).get();
            }
        }
        check(last.offset() == RECORDS / 3 - 1, last);
        return last;
    }

    static Object fields() {
        try (var consumer = consumer()) {
            consumer.assign(List.of(new TopicPartition(IN, 0)));
            var records = read(consumer, RECORDS / 3);
            var second = records.get(1);
            check(records.get(0).value() == null, records.get(0));
            check(second.key().equals("k3") && second.value().equals("v3") && second.timestamp() == START + 3, second);
            check(second.leaderEpoch().equals(Optional.of(0)) && second.headers().lastHeader("h").value() == null, second);
            return second;
        }
    }

    static Object offsetsByTime() throws Exception {
        var zero = new TopicPartition(IN, 0);
        var one = new TopicPartition(IN, 1);
        var found = admin.listOffsets(Map.of(zero, OffsetSpec.maxTimestamp(), one, OffsetSpec.forTimestamp(START + 100))).all().get();
        check(found.get(zero).offset() == 99 && found.get(zero).timestamp() == START + 297, found);
        check(found.get(one).offset() == 33, found);
        return found;
    }

    static Object share(String protocol) throws Exception {
        String group = "share-" + protocol + ID;
        var first = consumer("group.id", group, "group.protocol", protocol, "group.instance.id", "first");
        var second = consumer("group.id", group, "group.protocol", protocol, "group.instance.id", "second");
        var both = List.of(first, second);
        both.forEach(one -> one.subscribe(List.of(IN)));
        Set<String> seen = new HashSet<>();
        long end = System.currentTimeMillis() + 30_000;
        while (System.currentTimeMillis() < end
                && !(seen.size() == RECORDS && !first.assignment().isEmpty() && !second.assignment().isEmpty()))
            for (var one : both)
                for (var record : one.poll(Duration.ofMillis(100))) seen.add(record.partition() + ":" + record.offset());
        both.forEach(KafkaConsumer::commitSync);
        var described = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
        both.forEach(KafkaConsumer::close);
        check(seen.size() == RECORDS && described.members().size() == 2, seen.size() + " " + described);
        check(described.type().toString().equalsIgnoreCase(protocol), described);
        return described.type() + " " + described.groupState() + " " + described.partitionAssignor();
    }

    static Object exactlyOnce(String protocol) throws Exception {
        String group = "once-" + protocol + ID;
        String out = topic("once-" + protocol);
        int moved = 0;
        try (var consumer = consumer("group.id", group, "group.protocol", protocol, "enable.auto.commit", false, "max.poll.records", 50);
                var producer = producer("transactional.id", group)) {
            producer.initTransactions();
            consumer.subscribe(List.of(IN));
            long end = System.currentTimeMillis() + 30_000;
            while (moved < RECORDS && System.currentTimeMillis() < end) {
                var records = consumer.poll(Duration.ofMillis(500));
                if (records.isEmpty()) continue;
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                for (var record : records) {
                    producer.send(new ProducerRecord<>(out, record.key(), record.value()));
                    offsets.put(new TopicPartition(IN, record.partition()), new OffsetAndMetadata(record.offset() + 1));
                    moved++;
                }
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                producer.commitTransaction();
            }
        }
        var offsets = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
        check(offsets.values().stream().mapToLong(OffsetAndMetadata::offset).sum() == RECORDS, offsets);
        check(committed(out, RECORDS).size() == RECORDS, moved);
        return moved;
    }

    static Object pattern() {
        try (var consumer = consumer("group.id", "pattern-" + ID, "group.protocol", "consumer")) {
            consumer.subscribe(new SubscriptionPattern("in-" + ID + ".*"));
            check(read(consumer, RECORDS).size() == RECORDS, consumer.assignment());
            return consumer.assignment();
        }
    }

    static Object migrate() throws Exception {
        String group = "migrate-" + ID;
        try (var old = consumer("group.id", group); var modern = consumer("group.id", group, "group.protocol", "consumer")) {
            old.subscribe(List.of(IN));
            check(read(old, RECORDS).size() == RECORDS, old.assignment());
            old.commitSync();
            modern.subscribe(List.of(IN));
            long end = System.currentTimeMillis() + 30_000;
            while (System.currentTimeMillis() < end && (modern.assignment().isEmpty() || old.assignment().size() + modern.assignment().size() != 3)) {
                old.poll(Duration.ofMillis(100));
                modern.poll(Duration.ofMillis(100));
            }
            var described = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
            check(described.type().toString().equals("Consumer") && !modern.assignment().isEmpty(), described);
            return old.assignment() + " and " + modern.assignment();
        }
    }

    static Object commitAndAbort() throws Exception {
        String out = topic("commit");
        try (var producer = producer("transactional.id", "commit-" + ID)) {
            producer.initTransactions();
            for (String fate : List.of("kept", "lost", "kept too")) {
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(out, fate)).get();
                if (fate.equals("lost")) producer.abortTransaction();
                else producer.commitTransaction();
            }
        }
        var values = committed(out, 2);
        check(values.equals(List.of("kept", "kept too")), values);
        return values;
    }

    static Object fence() throws Exception {
        String out = topic("fence");
        var first = producer("transactional.id", "fence-" + ID);
        first.initTransactions();
        first.beginTransaction();
        first.send(new ProducerRecord<>(out, "lost")).get();
        try (var second = producer("transactional.id", "fence-" + ID)) {
            second.initTransactions();
            second.beginTransaction();
            second.send(new ProducerRecord<>(out, "kept")).get();
            second.commitTransaction();
        }
        try {
            first.commitTransaction();
            throw new AssertionError("the first producer was not fenced");
        } catch (ProducerFencedException | InvalidProducerEpochException expected) {
            check(committed(out, 1).equals(List.of("kept")), "the records of the fenced producer are visible");
            return expected.getClass().getSimpleName();
        } finally {
            first.close(Duration.ZERO);
        }
    }

    static Object abort() throws Exception {
        String out = topic("abort");
        var partition = new TopicPartition(out, 0);
        var producer = producer("transactional.id", "abort-" + ID);
        producer.initTransactions();
        producer.beginTransaction();
        producer.send(new ProducerRecord<>(out, "lost")).get();
        var open = admin.describeProducers(List.of(partition)).partitionResult(partition).get().activeProducers().get(0);
        check(open.currentTransactionStartOffset().getAsLong() == 0, open);
        admin.fenceProducers(List.of("abort-" + ID)).all().get();
        try {
            producer.commitTransaction();
            throw new AssertionError("the producer was not fenced");
        } catch (KafkaException expected) {
            return expected.getClass().getSimpleName();
        } finally {
            producer.close(Duration.ZERO);
        }
    }

    static Object topicsById() throws Exception {
        var id = admin.describeTopics(List.of(IN)).allTopicNames().get().get(IN).topicId();
        check(admin.describeTopics(TopicCollection.ofTopicIds(List.of(id))).allTopicIds().get().get(id).name().equals(IN), id);
        admin.deleteTopics(TopicCollection.ofTopicIds(List.of(id))).all().get();
        check(!admin.listTopics().names().get().contains(IN), "the topic is still listed");
        return id;
    }
}
