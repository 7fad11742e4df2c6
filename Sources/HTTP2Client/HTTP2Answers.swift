/// The answers to a batch, in the order of its requests.
///
/// Kept headers and bodies lie end to end in one array that all answers share; an empty 200 costs no allocation.
public struct HTTP2Answers: RandomAccessCollection, Sendable {
    package var records: [AnswerRecord]
    var bytes: [UInt8] = []
    package var names: [[UInt8]] = []

    package init(count: Int) {
        records = Array(repeating: AnswerRecord(), count: count)
    }

    /// Answers every request with one fault.
    package init(count: Int, unprocessed fault: HTTP2Fault) {
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
    package var unprocessedIndices: [Int] {
        records.indices.filter { records[$0].kind == .unprocessed }
    }

    /// Replaces the answers at `indices` by those of a later attempt.
    package mutating func replace(at indices: [Int], with later: HTTP2Answers) {
        let shift = UInt32(bytes.count)
        bytes.append(contentsOf: later.bytes)
        if !later.names.isEmpty { names = later.names }
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
package struct AnswerRecord: Sendable {
    package enum Kind: UInt8, Sendable { case open, response, unprocessed, unknown }

    package var kind = Kind.open
    package var isTruncated = false
    var status: UInt16 = 0
    var fieldsStart: UInt32 = 0
    var fieldsLength: UInt32 = 0
    var bodyStart: UInt32 = 0
    var bodyLength: UInt32 = 0
    /// The bytes reserved for the body from its start, once it had to move.
    var bodyRoom: UInt32 = 0
    package var fault = HTTP2Fault(.connectionLost)

    var fields: Range<Int> { Int(fieldsStart)..<Int(fieldsStart + fieldsLength) }
    var body: Range<Int> { Int(bodyStart)..<Int(bodyStart + bodyLength) }

    package mutating func settle(_ kind: Kind, _ fault: HTTP2Fault) {
        self.kind = kind
        self.fault = fault
    }

    func shifted(by shift: UInt32) -> AnswerRecord {
        var moved = self
        moved.fieldsStart += shift
        moved.bodyStart += shift
        return moved
    }
}

extension HTTP2Answers {
    /// Records the status of a response; its kept headers follow at the end of the bytes.
    package mutating func begin(_ index: Int, status: UInt16) {
        records[index].status = status
        records[index].fieldsStart = UInt32(bytes.count)
        records[index].fieldsLength = 0
    }

    /// The most bytes of headers kept for one answer. A server may repeat a header without end.
    private static let fieldsBytesMax = 1_024

    /// Keeps a header. Trailers come too late to lie beside the others and are left out.
    package mutating func keep(_ index: Int, place: UInt8, value: UnsafeBufferPointer<UInt8>) {
        let fields = records[index].fields
        guard value.count <= 255, fields.upperBound == bytes.count,
            fields.count + 2 + value.count <= Self.fieldsBytesMax
        else { return }
        bytes.append(place)
        bytes.append(UInt8(value.count))
        bytes.append(contentsOf: value)
        records[index].fieldsLength += UInt32(2 + value.count)
    }

    /// Keeps a piece of a body, up to `limit` bytes of it. Copies a byte a bounded number of times, however small the pieces.
    package mutating func keepBody(_ index: Int, piece: UnsafeBufferPointer<UInt8>, limit: Int) {
        let left = limit - Int(records[index].bodyLength)
        if piece.count > left { records[index].isTruncated = true }
        guard left > 0 else { return }
        let piece = UnsafeBufferPointer(rebasing: piece.prefix(left))
        let length = Int(records[index].bodyLength) + piece.count
        if records[index].bodyLength == 0 {
            records[index].bodyStart = UInt32(bytes.count)
            bytes.append(contentsOf: piece)
        } else if length <= Int(records[index].bodyRoom) {
            let end = records[index].body.upperBound
            bytes.withUnsafeMutableBufferPointer {
                _ = UnsafeMutableBufferPointer(rebasing: $0[end..<end + piece.count]).update(from: piece)
            }
        } else if records[index].bodyRoom == 0, records[index].body.upperBound == bytes.count {
            bytes.append(contentsOf: piece)
        } else {
            moveBody(index, appending: piece, room: Swift.min(limit, 2 * length))
        }
        records[index].bodyLength = UInt32(length)
    }

    /// Moves a body to the end, to stay in one run, for another answer was written behind it. It doubles its room each time.
    private mutating func moveBody(_ index: Int, appending piece: UnsafeBufferPointer<UInt8>, room: Int) {
        let body = records[index].body
        records[index].bodyStart = UInt32(bytes.count)
        records[index].bodyRoom = UInt32(room)
        bytes.append(contentsOf: bytes[body])
        bytes.append(contentsOf: piece)
        bytes.append(contentsOf: repeatElement(0, count: room - body.count - piece.count))
    }
}
