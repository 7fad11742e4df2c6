import NIOCore

/// The jobs that still have requests to write: all urgent ones before the others, each lane in order of arrival.
struct BatchLanes {
    private var urgent = CircularBuffer<BatchJob>()
    private var normal = CircularBuffer<BatchJob>()
    /// Requests, not jobs.
    private(set) var waiting = 0

    var first: BatchJob? { urgent.first ?? normal.first }

    mutating func append(_ job: BatchJob) {
        waiting += job.count - job.next
        if job.isUrgent { urgent.append(job) } else { normal.append(job) }
    }

    /// Notes that one request of the first job was written.
    mutating func advanceFirst() {
        guard let job = first else { return }
        waiting -= 1
        job.next += 1
        guard job.isWritten else { return }
        if urgent.isEmpty { normal.removeFirst() } else { urgent.removeFirst() }
    }

    /// Takes a job out, with what it has not written.
    mutating func remove(_ job: BatchJob) {
        guard !job.isWritten else { return }
        waiting -= job.count - job.next
        if job.isUrgent { urgent.removeAll { $0 === job } } else { normal.removeAll { $0 === job } }
    }
}
