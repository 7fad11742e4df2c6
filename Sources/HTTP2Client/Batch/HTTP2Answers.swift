/// The answers to a batch, in the order of its requests.
///
/// Kept headers and bodies lie end to end in one array that all answers share; an empty 200 costs no allocation.
public struct HTTP2Answers: RandomAccessCollection, Sendable {
    var records: [AnswerRecord]
    var bytes: [UInt8] = []
    var names: [[UInt8]] = []

    init(count: Int) {
        records = Array(repeating: AnswerRecord(), count: count)
    }

    /// The same fault for every request.
    init(count: Int, unprocessed fault: HTTP2Fault) {
        records = Array(repeating: AnswerRecord(kind: .unprocessed, fault: fault), count: count)
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { records.count }

    public subscript(index: Int) -> HTTP2Answer {
        let record = records[index]
        switch record.kind {
        case .response: return .response(response(record))
        case .unprocessed: return .unprocessed(record.fault)
        case .unknown, .open: return .unknown(record.fault)
        }
    }

    /// The indices of the requests that are safe to send again.
    var unprocessedIndices: [Int] {
        records.indices.filter { records[$0].kind == .unprocessed }
    }

    /// Replaces the answers at `indices` by those of a later attempt.
    mutating func replace(at indices: [Int], with later: HTTP2Answers) {
        let shift = UInt32(bytes.count)
        bytes.append(contentsOf: later.bytes)
        names = later.names
        for (index, record) in zip(indices, later.records) {
            records[index] = record.shifted(by: shift)
        }
    }

    private func response(_ record: AnswerRecord) -> HTTP2Response {
        HTTP2Response(
            status: Int(record.status), isTruncated: record.isTruncated, bytes: bytes,
            fields: record.fields, bodyRange: record.body, names: names)
    }
}

/// The position of one answer in the shared bytes.
struct AnswerRecord: Sendable {
    enum Kind: UInt8 { case open, response, unprocessed, unknown }

    var kind = Kind.open
    var isTruncated = false
    var status: UInt16 = 0
    var fieldsStart: UInt32 = 0
    var fieldsLength: UInt32 = 0
    var bodyStart: UInt32 = 0
    var bodyLength: UInt32 = 0
    var fault = HTTP2Fault(.connectionLost)

    var fields: Range<Int> { Int(fieldsStart)..<Int(fieldsStart + fieldsLength) }
    var body: Range<Int> { Int(bodyStart)..<Int(bodyStart + bodyLength) }

    func shifted(by shift: UInt32) -> AnswerRecord {
        var moved = self
        moved.fieldsStart += shift
        moved.bodyStart += shift
        return moved
    }
}

extension HTTP2Answers {
    /// Records the status of a response; its kept headers follow at the end of the bytes.
    mutating func begin(_ index: Int, status: UInt16) {
        records[index].status = status
        records[index].fieldsStart = UInt32(bytes.count)
        records[index].fieldsLength = 0
    }

    /// Keeps a header. Trailers come too late to lie beside the others and are left out.
    mutating func keep(_ index: Int, place: UInt8, value: UnsafeBufferPointer<UInt8>) {
        guard value.count <= 255, records[index].fields.upperBound == bytes.count else { return }
        bytes.append(place)
        bytes.append(UInt8(value.count))
        bytes.append(contentsOf: value)
        records[index].fieldsLength += UInt32(2 + value.count)
    }

    /// Keeps a piece of a body, up to `limit` bytes of it.
    mutating func keepBody(_ index: Int, piece: UnsafeBufferPointer<UInt8>, limit: Int) {
        let record = records[index]
        let room = limit - Int(record.bodyLength)
        if piece.count > room { records[index].isTruncated = true }
        guard room > 0 else { return }
        if record.bodyLength == 0 {
            records[index].bodyStart = UInt32(bytes.count)
        } else if record.body.upperBound != bytes.count {
            // Another answer was written after the first piece: the body moves to the end, to stay contiguous.
            records[index].bodyStart = UInt32(bytes.count)
            bytes.append(contentsOf: bytes[record.body])
        }
        bytes.append(contentsOf: piece.prefix(room))
        records[index].bodyLength += UInt32(Swift.min(piece.count, room))
    }
}
