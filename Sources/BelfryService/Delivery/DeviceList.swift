/// Ascending device keys as differences of variable length: one byte for each device that closely follows another.
package enum DeviceList {
    package static func encode(_ devices: [Key<Device>]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(devices.count + 9)
        var last: Int64 = 0
        for device in devices {
            precondition(device.rawValue > last, "device keys of a batch ascend")
            var difference = UInt64(bitPattern: device.rawValue - last)
            while difference >= 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: difference) | 0x80)
                difference >>= 7
            }
            bytes.append(UInt8(difference))
            last = device.rawValue
        }
        return bytes
    }

    package static func decode(_ bytes: [UInt8]) -> [Key<Device>]? { bytes.withUnsafeBytes { decode($0) } }

    /// nil when the bytes are malformed. Not generic: called from other modules it would not be specialized.
    package static func decode(_ bytes: UnsafeRawBufferPointer) -> [Key<Device>]? {
        var devices: [Key<Device>] = []
        devices.reserveCapacity(bytes.count)
        return each(in: bytes) { devices.append(Key($0)) } ? devices : nil
    }

    /// Calls `body` with each device, and returns false when the bytes are malformed.
    ///
    /// - Parameter first: what the first difference is from.
    @inline(__always)
    static func each(in bytes: UnsafeRawBufferPointer, behind first: Int64 = 0, _ body: (Int64) -> Void) -> Bool {
        var last = first
        var difference: UInt64 = 0
        var shift: UInt64 = 0
        for byte in bytes {
            guard shift <= 63, shift < 63 || byte <= 1 else { return false }
            difference |= UInt64(byte & 0x7F) << shift
            shift += 7
            guard byte < 0x80 else { continue }
            let (sum, overflow) = last.addingReportingOverflow(Int64(bitPattern: difference))
            guard !overflow, sum > last else { return false }
            last = sum
            body(sum)
            difference = 0
            shift = 0
        }
        return shift == 0
    }
}
