import HTTP2Client
import NIOCore

/// A batch on its way over the HTTP/1.1 connections of one host: its progress and its answers.
///
/// Lives on the event loop of its pool.
final class HTTP1Job {
    typealias Deliver = (HTTP2Answers, HTTP2ConnectError?) -> Void

    let id: UInt64
    let isUrgent: Bool
    let lapsesAt: UInt64
    let count: Int
    /// The next request to be written.
    var next = 0
    private(set) var answered = 0
    private(set) var answers: HTTP2Answers
    let answerBytesMax: Int
    private let batch: HTTP2Batch
    private var silence: SilenceClock
    /// The bytes after the path of each request, up to the headers of its own.
    private let sharedHead: [UInt8]
    private let deliver: Deliver

    /// The most bytes read of an answer's body, where the batch names no limit.
    private static let answerBytesMax = 16_384
    /// Methods that say nothing of a body that they have not. Source: RFC 9110 §8.6.
    private static let bodiless: Set = ["GET", "DELETE"]

    init(
        id: UInt64, batch: HTTP2Batch, authority: String, isUrgent: Bool, lapsesAt: UInt64, silence: SilenceClock,
        deliver: @escaping Deliver
    ) {
        self.id = id
        self.batch = batch
        self.isUrgent = isUrgent
        self.lapsesAt = lapsesAt
        self.silence = silence
        self.deliver = deliver
        count = batch.count
        answers = HTTP2Answers(count: batch.count)
        answers.names = (batch.keptHeaders ?? []).map { Array($0.utf8) }
        answerBytesMax = batch.answerBytesMax ?? Self.answerBytesMax
        var head = Array(" HTTP/1.1\r\nhost: \(authority)\r\n".utf8)
        for header in batch.headers { head += header.name + ": ".utf8 + header.value + "\r\n".utf8 }
        sharedHead = head
    }

    var isWritten: Bool { next == count }
    var isDone: Bool { answered == count }

    /// - Parameter others: how many answers the host gave to all jobs: requests that are not written yet wait for those.
    func isLost(answersOfAll others: Int, at now: UInt64) -> Bool {
        lapsesAt <= now || silence.isTooLong(answers: next > 0 ? answered : others, at: now)
    }

    // MARK: Bytes out

    /// The whole of a request. Source: RFC 9112 §3, §6.2.
    func write(_ request: Int, into buffer: inout ByteBuffer) {
        let first = request * batch.fieldsPerRequest
        buffer.writeString(batch.method)
        buffer.writeInteger(UInt8(ascii: " "))
        write(field: first, into: &buffer)
        buffer.writeBytes(sharedHead)
        for (offset, name) in batch.varying.enumerated() where !batch.fields.range(of: first + 1 + offset).isEmpty {
            buffer.writeString(name)
            buffer.writeString(": ")
            write(field: first + 1 + offset, into: &buffer)
            buffer.writeString("\r\n")
        }
        let count = bodyCount(request)
        if count > 0 || !Self.bodiless.contains(batch.method) { buffer.writeString("content-length: \(count)\r\n") }
        buffer.writeString("\r\n")
        switch batch.body {
        case .shared(let body): buffer.writeBytes(body)
        case .own: write(field: first + 1 + batch.varying.count, into: &buffer)
        }
    }

    private func bodyCount(_ request: Int) -> Int {
        switch batch.body {
        case .shared(let body): body.count
        case .own: batch.fields.range(of: (request + 1) * batch.fieldsPerRequest - 1).count
        }
    }

    private func write(field: Int, into buffer: inout ByteBuffer) {
        buffer.writeBytes(batch.fields.bytes[batch.fields.range(of: field)])
    }

    // MARK: Answers in

    func begin(_ request: Int, status: Int) { answers.begin(request, status: UInt16(clamping: status)) }

    func keep(_ request: Int, name: String, value: String) {
        guard let place = answers.names.firstIndex(where: { name.isASCIIEqual(to: $0) }) else { return }
        var value = value
        value.withUTF8 { answers.keep(request, place: UInt8(place), value: $0) }
    }

    /// Whether there is more of the body than is read of it.
    func keepBody(_ request: Int, _ piece: ByteBuffer) -> Bool {
        piece.withUnsafeReadableBytes {
            answers.keepBody(request, piece: $0.bindMemory(to: UInt8.self), limit: answerBytesMax)
        }
        return answers.records[request].isTruncated
    }

    func settle(_ request: Int, _ kind: AnswerRecord.Kind, _ fault: HTTP2Fault = HTTP2Fault(.connectionLost)) {
        answers.records[request].settle(kind, fault)
        answered += 1
    }

    /// Answers what has not been written.
    func giveUpWaiting(_ fault: HTTP2Fault) {
        while next < count {
            settle(next, .unprocessed, fault)
            next += 1
        }
    }

    /// Hands the answers over, once all are there.
    func finish(_ failure: HTTP2ConnectError?) { deliver(answers, failure) }
}

extension String {
    /// Compares with a lowercase name, whatever the case of this one.
    fileprivate func isASCIIEqual(to name: [UInt8]) -> Bool {
        utf8.count == name.count && zip(utf8, name).allSatisfy { $0 == $1 || 0x41...0x5A ~= $0 && $0 | 0x20 == $1 }
    }
}
