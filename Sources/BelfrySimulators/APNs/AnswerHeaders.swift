import CNghttp2
import Foundation

/// The header fields of an answer in memory for nghttp2, made once for each connection.
final class AnswerHeaders {
    private static let texts: [StaticString] = [
        ":status", "apns-id", "apns-unique-id", "apns-request-id",
    ]
    private let fields = UnsafeMutablePointer<nghttp2_nv>.allocate(capacity: 3)
    private let names: [UnsafeMutablePointer<UInt8>]
    private let status = UnsafeMutablePointer<UInt8>.allocate(capacity: 3)
    private let uniqueID = UnsafeMutablePointer<UInt8>.allocate(capacity: APNsRequest.idBytes)
    private var random = UInt64.random(in: 0 ... .max)

    init() {
        names = Self.texts.map { text in
            let name = UnsafeMutablePointer<UInt8>.allocate(capacity: text.utf8CodeUnitCount)
            memcpy(name, text.utf8Start, text.utf8CodeUnitCount)
            return name
        }
        // Ids never repeat: indexed, they would only evict others from the HPACK table.
        let unindexed = UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue)
        fields[0] = nghttp2_nv(name: names[0], value: status, namelen: 7, valuelen: 3, flags: 0)
        fields[1] = nghttp2_nv(
            name: names[1], value: status, namelen: 7, valuelen: APNsRequest.idBytes, flags: unindexed)
        fields[2] = nghttp2_nv(
            name: names[2], value: uniqueID, namelen: 14, valuelen: APNsRequest.idBytes, flags: unindexed)
    }

    func deallocate() {
        fields.deallocate()
        for name in names { name.deallocate() }
        status.deallocate()
        uniqueID.deallocate()
    }

    func nextRandom() -> (UInt64, UInt64) {
        random &+= 2
        return (StableHash.mix(random), StableHash.mix(random &+ 1))
    }

    /// The fields of an answer to a broadcast; valid until the next call.
    func fieldsOfBroadcast(
        status code: Int, id: UnsafeMutablePointer<UInt8>
    ) -> UnsafeMutableBufferPointer<nghttp2_nv> {
        let all = fields(status: code, id: id, withUniqueID: true)
        (all[1].name, all[1].namelen) = (names[3], 15)
        return UnsafeMutableBufferPointer(rebasing: all[..<(code == 200 ? 3 : 2)])
    }

    /// The fields of an answer; valid until the next call.
    func fields(
        status code: Int, id: UnsafeMutablePointer<UInt8>, withUniqueID: Bool
    ) -> UnsafeMutableBufferPointer<nghttp2_nv> {
        status[0] = UInt8(ascii: "0") + UInt8(code / 100 % 10)
        status[1] = UInt8(ascii: "0") + UInt8(code / 10 % 10)
        status[2] = UInt8(ascii: "0") + UInt8(code % 10)
        fields[1].value = id
        (fields[1].name, fields[1].namelen) = (names[1], 7)
        if withUniqueID { UUIDText.write(nextRandom(), to: uniqueID) }
        return UnsafeMutableBufferPointer(start: fields, count: withUniqueID ? 3 : 2)
    }
}
