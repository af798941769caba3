from moldau._speed.reference.counts import Traffic as Traffic
from moldau._speed.reference.counts import count_reads as count_reads
