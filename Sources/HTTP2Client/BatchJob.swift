import CNghttp2
import NIOCore
import Synchronization

/// A batch on one connection: its bytes at a fixed address, its progress and its answers.
///
/// Lives on the connection's event loop. nghttp2 reads header names and values where they lie, so the bytes are copied
/// once into memory that does not move and outlives the last frame that names them (`HTTP2Session.finished`).
final class BatchJob {
    let id: UInt64
    let isUrgent: Bool
    let lapsesAt: UInt64
    let count: Int
    var next = 0
    var answered = 0
    var answers: HTTP2Answers
    /// The place where the session keeps the job, so that it leaves in one step.
    var place = 0
    /// Whether a request was submitted, so that a queued frame may name its bytes.
    var hasStreams = false
    /// The names of the headers to keep, in the order of their places; nil until the session has taken the job.
    var names: [[UInt8]]?
    let answerBytesMax: Int?
    var silence: SilenceClock

    private let memory: UnsafeMutablePointer<UInt8>
    private let headers: UnsafeMutablePointer<nghttp2_nv>
    private let headerCapacity: Int
    private let sharedHeaderCount: Int
    private let varyingNames: [Range<Int>]
    private let ends: [UInt32]
    private let fieldsStart: Int
    private let fieldsPerRequest: Int
    private let sharedBody: Range<Int>?
    private let deliver: (HTTP2Answers) -> Void

    var isWritten: Bool { next == count }
    var isDone: Bool { answered == count }

    init(
        id: UInt64, batch: HTTP2Batch, authority: [UInt8], isUrgent: Bool, lapsesAt: UInt64,
        silence: SilenceClock = SilenceClock(), deliver: @escaping (HTTP2Answers) -> Void
    ) {
        self.id = id
        self.isUrgent = isUrgent
        self.lapsesAt = lapsesAt
        self.silence = silence
        self.deliver = deliver
        count = batch.count
        names = batch.keptHeaders.map { $0.map { Array($0.utf8) } }
        answerBytesMax = batch.answerBytesMax
        answers = HTTP2Answers(count: batch.count)

        var layout = BatchLayout()
        let pseudo = [
            HTTP2Header(":method", batch.method), HTTP2Header(":scheme", "https"),
            HTTP2Header(name: Array(":authority".utf8), value: authority),
        ]
        let shared = (pseudo + batch.headers).map { (layout.place($0.name), layout.place($0.value), $0.indexing) }
        let path = layout.place(Array(":path".utf8))
        varyingNames = batch.varying.map { layout.place(Array($0.utf8)) }
        if case .shared(let body) = batch.body { sharedBody = layout.place(body) } else { sharedBody = nil }
        fieldsStart = layout.bytes.count
        layout.bytes.append(contentsOf: batch.fields.bytes)
        ends = batch.fields.ends
        fieldsPerRequest = batch.fieldsPerRequest

        memory = layout.copy()
        sharedHeaderCount = shared.count + 1
        headerCapacity = sharedHeaderCount + batch.varying.count
        headers = .allocate(capacity: headerCapacity)
        // :path stands fourth, among the pseudo headers. Source: RFC 9113 §8.3, they precede all others.
        for (index, header) in shared.enumerated() {
            headers[index < 3 ? index : index + 1] = field(header.0, header.1, header.2)
        }
        headers[3] = field(path, 0..<0, .never)
    }

    deinit {
        memory.deallocate()
        headers.deallocate()
    }

    /// The header fields of the next request; valid until the next call.
    func headersOfNext() -> (UnsafeMutablePointer<nghttp2_nv>, Int) {
        let first = next * fieldsPerRequest
        let path = range(of: first)
        headers[3].value = memory + path.lowerBound
        headers[3].valuelen = path.count
        var used = sharedHeaderCount
        for (offset, name) in varyingNames.enumerated() {
            let value = range(of: first + 1 + offset)
            guard !value.isEmpty else { continue }
            headers[used] = field(name, value, .never)
            used += 1
        }
        return (headers, used)
    }

    func bodyOfNext() -> UnsafeBufferPointer<UInt8> {
        let body = sharedBody ?? range(of: (next + 1) * fieldsPerRequest - 1)
        return UnsafeBufferPointer(start: memory + body.lowerBound, count: body.count)
    }

    /// Hands the answers over, once all are there.
    func finish() {
        answers.names = names ?? []
        deliver(answers)
    }

    private func range(of field: Int) -> Range<Int> {
        let start = field == 0 ? 0 : Int(ends[field - 1])
        return fieldsStart + start..<fieldsStart + Int(ends[field])
    }

    private func field(_ name: Range<Int>, _ value: Range<Int>, _ indexing: HTTP2Header.Indexing) -> nghttp2_nv {
        let flags = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
        let never = indexing == .never ? NGHTTP2_NV_FLAG_NO_INDEX.rawValue : 0
        return nghttp2_nv(
            name: memory + name.lowerBound, value: memory + value.lowerBound,
            namelen: name.count, valuelen: value.count, flags: UInt8(truncatingIfNeeded: flags | never))
    }
}

/// Lays byte strings end to end and remembers where each lies.
private struct BatchLayout {
    var bytes: [UInt8] = []

    mutating func place(_ piece: [UInt8]) -> Range<Int> {
        let start = bytes.count
        bytes.append(contentsOf: piece)
        return start..<bytes.count
    }

    /// The bytes at an address that does not move; the caller deallocates.
    func copy() -> UnsafeMutablePointer<UInt8> {
        let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
        _ = memory.initialize(from: bytes)
        return memory.baseAddress ?? .allocate(capacity: 1)
    }
}

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

/// Whether the task that waits for a batch was cancelled.
package final class Cancellation: Sendable {
    private let value = Atomic(false)

    package init() {}

    package var isAsked: Bool { value.load(ordering: .acquiring) }
    package func ask() { value.store(true, ordering: .releasing) }
}
