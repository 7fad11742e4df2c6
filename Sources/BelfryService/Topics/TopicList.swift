/// A device's topic ids in its row: ascending, and encoded like the devices of a batch.
package enum TopicList {
    package static func encode(_ ids: [Int64]) -> [UInt8] { DeviceList.encode(ids.map { Key($0) }) }

    package static func decode(_ bytes: UnsafeRawBufferPointer) throws -> [Int64] {
        guard let ids = DeviceList.decode(bytes) else { throw StoreError.unavailable("a device's topics are damaged") }
        return ids.map(\.rawValue)
    }
}
