"""Programs for kafka-python: what its documents show, in our own words, run with nothing but the import changed.

Each is a program of its own and says what it has to print. `long` runs them with kafka-python itself as well: that is
what makes them programs for kafka-python and not for us.
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

PROGRAMS = {
    "send and forget, then wait for all": """
        from kafka import KafkaConsumer, KafkaProducer
        producer = KafkaProducer(bootstrap_servers='BROKER')
        for _ in range(100):
            producer.send('TOPIC', b'some bytes')
        producer.flush()
        consumer = KafkaConsumer('TOPIC', bootstrap_servers='BROKER', auto_offset_reset='earliest',
                                 consumer_timeout_ms=60000)
        print(len([next(consumer) for _ in range(100)]))
        #> 100
    """,
    "wait for one": """
        from kafka import KafkaProducer
        from kafka.errors import KafkaError
        producer = KafkaProducer(bootstrap_servers=['BROKER'])
        future = producer.send('TOPIC', b'raw_bytes')
        try:
            record_metadata = future.get(timeout=10)
        except KafkaError:
            raise SystemExit('it failed')
        print(record_metadata.topic == 'TOPIC', record_metadata.partition, record_metadata.offset)
        #> True 0 0
    """,
    "keys": """
        from kafka import KafkaProducer
        producer = KafkaProducer(bootstrap_servers='BROKER')
        same = {producer.send('TOPIC', key=b'foo', value=b'%d' % n).get(10).partition for n in range(20)}
        print(len(same))
        #> 1
    """,
    "serializers as functions and as objects": """
        import json
        import itertools
        from kafka import DefaultSerializer, JsonSerializer, KafkaConsumer, KafkaProducer
        producer = KafkaProducer(bootstrap_servers='BROKER', value_serializer=lambda m: json.dumps(m).encode('ascii'))
        producer.send('TOPIC', {'key': 'value'})
        producer.close()
        producer = KafkaProducer(bootstrap_servers='BROKER', key_serializer=DefaultSerializer(),
                                 value_serializer=JsonSerializer())
        producer.send('TOPIC', key='ping', value={'foo': 'bar'}).get(10)
        producer.close()
        consumer = KafkaConsumer(bootstrap_servers='BROKER', auto_offset_reset='earliest', consumer_timeout_ms=60000,
                                 value_deserializer=JsonSerializer(), key_deserializer=DefaultSerializer())
        consumer.subscribe(['TOPIC'])
        for msg in itertools.islice(consumer, 2):
            print(msg.key, msg.value)
        consumer = KafkaConsumer('TOPIC', bootstrap_servers='BROKER', auto_offset_reset='earliest',
                                 consumer_timeout_ms=60000, value_deserializer=lambda m: json.loads(m.decode('ascii')))
        print([next(consumer).value for _ in range(2)])
        #> None {'key': 'value'}
        #> ping {'foo': 'bar'}
        #> [{'key': 'value'}, {'foo': 'bar'}]
    """,
    "callbacks": """
        from kafka import KafkaProducer
        def on_send_success(record_metadata):
            print('sent', record_metadata.partition, record_metadata.offset)
        def on_send_error(excp):
            print('I am an errback')
        producer = KafkaProducer(bootstrap_servers='BROKER', retries=5)
        producer.send('TOPIC', b'raw_bytes').add_callback(on_send_success).add_errback(on_send_error)
        producer.flush()
        #> sent 0 0
    """,
    "compression and headers": """
        from kafka import KafkaConsumer, KafkaProducer
        producer = KafkaProducer(bootstrap_servers='BROKER', compression_type='gzip')
        for i in range(1000):
            producer.send('TOPIC', b'msg %d' % i)
        producer.send('TOPIC', value=b'c29tZQ==', headers=[('content-encoding', b'base64')])
        producer.close()
        consumer = KafkaConsumer('TOPIC', bootstrap_servers='BROKER', auto_offset_reset='earliest',
                                 consumer_timeout_ms=60000)
        messages = [next(consumer) for _ in range(1001)]
        print(len(messages), messages[999].value, list(messages[0].headers), list(messages[1000].headers))
        #> 1001 b'msg 999' [] [('content-encoding', b'base64')]
    """,
    "a group that commits": """
        from kafka import KafkaConsumer, KafkaProducer
        producer = KafkaProducer(bootstrap_servers='BROKER')
        for i in range(10):
            producer.send('TOPIC', b'%d' % i)
        producer.close()
        consumer = KafkaConsumer('TOPIC', group_id='TOPIC', bootstrap_servers=['BROKER'],
                                 auto_offset_reset='earliest', enable_auto_commit=False)
        first = [next(consumer).value for _ in range(5)]
        consumer.commit()
        consumer.close()
        consumer = KafkaConsumer('TOPIC', group_id='TOPIC', bootstrap_servers=['BROKER'],
                                 auto_offset_reset='earliest', consumer_timeout_ms=60000)
        second = []
        for message in consumer:
            second.append('%s:%d:%d: key=%s value=%s' % (message.topic == 'TOPIC', message.partition,
                                                         message.offset, message.key, message.value))
            if len(second) == 5:
                break
        consumer.close()
        print(first)
        print(second[0], len(second))
        #> [b'0', b'1', b'2', b'3', b'4']
        #> True:0:5: key=None value=b'5' 5
    """,
    "partitions of one's own": """
        from kafka import KafkaConsumer, KafkaProducer, TopicPartition
        producer = KafkaProducer(bootstrap_servers='BROKER')
        for i in range(5):
            producer.send('TOPIC', b'%d' % i, partition=0)
        producer.flush()
        consumer = KafkaConsumer(bootstrap_servers='BROKER', auto_offset_reset='earliest')
        tp = TopicPartition('TOPIC', 0)
        consumer.assign([tp])
        msg = next(consumer)
        print(msg.value, consumer.position(tp))
        consumer.seek(tp, 3)
        print(next(consumer).value)
        consumer.seek_to_end(tp)
        print(consumer.position(tp), consumer.beginning_offsets([tp])[tp], consumer.end_offsets([tp])[tp])
        consumer.close()
        #> b'0' 1
        #> b'3'
        #> 5 0 5
    """,
    "polling": """
        from kafka import KafkaConsumer, KafkaProducer, TopicPartition
        producer = KafkaProducer(bootstrap_servers='BROKER', linger_ms=5)
        for i in range(100):
            producer.send('TOPIC', value=b'%d' % i, key=b'k', timestamp_ms=1000 + i)
        producer.close()
        consumer = KafkaConsumer(bootstrap_servers='BROKER', auto_offset_reset='earliest', max_poll_records=10)
        tp = TopicPartition('TOPIC', 0)
        consumer.assign([tp])
        total = 0
        while total < 100:
            batch = consumer.poll(timeout_ms=1000)
            for partition, records in batch.items():
                assert partition == tp and len(records) <= 10
                total += len(records)
        found = consumer.offsets_for_times({tp: 1050})[tp]
        print(total, found.offset, found.timestamp)
        consumer.pause(tp)
        print(consumer.paused() == {tp}, consumer.poll(100))
        consumer.resume(tp)
        consumer.close()
        #> 100 50 1050
        #> True {}
    """,
    "a pattern": """
        from kafka import KafkaConsumer, KafkaProducer
        producer = KafkaProducer(bootstrap_servers='BROKER')
        for name in ('TOPIC-a', 'TOPIC-b'):
            producer.send(name, name[-1].encode()).get(10)
        producer.close()
        consumer = KafkaConsumer(bootstrap_servers='BROKER', auto_offset_reset='earliest', consumer_timeout_ms=60000)
        consumer.subscribe(pattern='^TOPIC-.*')
        print(sorted(next(consumer).value for _ in range(2)))
        consumer.close()
        #> [b'a', b'b']
    """,
    "transactions": """
        from kafka import IsolationLevel, KafkaConsumer, KafkaProducer
        producer = KafkaProducer(bootstrap_servers='BROKER', transactional_id='TOPIC')
        producer.init_transactions()
        producer.begin_transaction()
        producer.send('TOPIC', value=b'yes').get()
        producer.commit_transaction()
        producer.begin_transaction()
        producer.send('TOPIC', value=b'no').get()
        producer.abort_transaction()
        producer.begin_transaction()
        producer.send('TOPIC', value=b'again').get()
        producer.commit_transaction()
        producer.close()
        consumer = KafkaConsumer(bootstrap_servers='BROKER', isolation_level=IsolationLevel.READ_COMMITTED,
                                 auto_offset_reset='earliest', consumer_timeout_ms=60000)
        consumer.subscribe(['TOPIC'])
        print([next(consumer).value for _ in range(2)])
        #> [b'yes', b'again']
    """,
    "the admin client": """
        from kafka import KafkaAdminClient
        from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic
        from kafka.errors import TopicAlreadyExistsError
        admin = KafkaAdminClient(bootstrap_servers='BROKER', client_id='test')
        admin.create_topics([NewTopic(name='TOPIC', num_partitions=1, replication_factor=1)])
        try:
            admin.create_topics([NewTopic(name='TOPIC', num_partitions=1, replication_factor=1)])
        except TopicAlreadyExistsError:
            print('there already')
        admin.create_partitions({'TOPIC': NewPartitions(total_count=3)})
        print('TOPIC' in admin.list_topics(), isinstance(admin.list_groups(), list))
        admin.delete_topics(['TOPIC'])
        admin.close()
        #> there already
        #> True True
    """,
    "threads": """
        import threading, time
        from kafka import KafkaConsumer, KafkaProducer
        class Producer(threading.Thread):
            def __init__(self):
                super().__init__()
                self.stop_event = threading.Event()
            def run(self):
                producer = KafkaProducer(bootstrap_servers='BROKER')
                while not self.stop_event.is_set():
                    producer.send('TOPIC', b'test')
                    producer.send('TOPIC', b'second')
                    time.sleep(0.05)
                producer.close()
        class Consumer(threading.Thread):
            def __init__(self):
                super().__init__()
                self.stop_event = threading.Event()
                self.seen = set()
            def run(self):
                consumer = KafkaConsumer(bootstrap_servers='BROKER', auto_offset_reset='earliest',
                                         consumer_timeout_ms=500)
                consumer.subscribe(['TOPIC'])
                while not self.stop_event.is_set():
                    for message in consumer:
                        self.seen.add(message.value)
                        if self.stop_event.is_set():
                            break
                consumer.close()
        tasks = [Producer(), Consumer()]
        for t in tasks:
            t.start()
        deadline = time.time() + 60
        while len(tasks[1].seen) < 2 and time.time() < deadline:
            time.sleep(0.05)
        for task in tasks:
            task.stop_event.set()
        for task in tasks:
            task.join()
        print(sorted(tasks[1].seen))
        #> [b'second', b'test']
    """,
    "metrics and exceptions": """
        from kafka import KafkaProducer
        from kafka.errors import KafkaTimeoutError, MessageSizeTooLargeError
        producer = KafkaProducer(bootstrap_servers='BROKER', acks='all', retries=3)
        try:
            producer.send('TOPIC', bytes(5_000_000)).get(10)
        except MessageSizeTooLargeError:
            print('too large')
        producer.send('TOPIC', b'x').get(10)
        print(producer.partitions_for('TOPIC'))
        print('producer-metrics' in producer.metrics())
        producer.close(timeout=5)
        #> too large
        #> {0}
        #> True
    """,
}


def run(program: str, bootstrap: str, topic: str) -> tuple[str, str]:
    text = re.sub(r"^        ", "", program.strip("\n"), flags=re.MULTILINE)
    text = text.replace("BROKER", bootstrap).replace("TOPIC", topic)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def expected(program: str) -> str:
    return "".join(f"{line}\n" for line in re.findall(r"#> (.*)", program))


@pytest.mark.parametrize("name", PROGRAMS)
def test_runs_after_changing_the_import(bootstrap: str, topic: str, name: str) -> None:
    changed = re.sub(r"^( *)(from|import) kafka\b", r"\1\2 moldau", PROGRAMS[name], flags=re.MULTILINE)
    assert changed != PROGRAMS[name]
    assert run(changed, bootstrap, topic) == (expected(PROGRAMS[name]), "")


@pytest.mark.long
@pytest.mark.parametrize("name", PROGRAMS)
def test_is_a_program_for_kafka_python(bootstrap: str, topic: str, name: str) -> None:
    output, _ = run(PROGRAMS[name], bootstrap, topic)
    assert output == expected(PROGRAMS[name])
