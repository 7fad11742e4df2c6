/// Counts up the badges of devices that several pushes reach, in as few steps as possible.
///
/// A run has changes of one kind, so its devices are changed by one statement for each number. The number that each push
/// shows is computed back from the final numbers.
package struct BadgeCount: Sendable {
    package struct Step: Sendable {
        /// The amount to add, or the value to set.
        package let number: Int64
        package let devices: [Key<Device>]
    }

    package let isAdding: Bool
    private let requests: [(change: Int64, devices: [Key<Device>])]
    private var totals: [Key<Device>: Int64] = [:]

    /// - Parameter requests: changes of one kind, with the devices of each.
    package init(isAdding: Bool, _ requests: [(change: Int64, devices: [Key<Device>])]) {
        self.isAdding = isAdding
        self.requests = requests
        for request in requests {
            for device in request.devices {
                totals[device] = isAdding ? totals[device, default: 0] + request.change : request.change
            }
        }
    }

    /// The changes to write; each device is in one of them.
    package var steps: [Step] {
        Dictionary(grouping: totals.keys) { totals[$0] ?? 0 }.sorted { $0.key < $1.key }
            .map { Step(number: $0.key, devices: $0.value.sorted()) }
    }

    /// The numbers that each request shows on each of its devices.
    ///
    /// - Parameter ends: the numbers after the steps; not needed where they were set.
    package func numbers(_ ends: [Key<Device>: Int64]) -> [[Int64]] {
        var counted: [Key<Device>: Int64] = [:]
        return requests.map { request in
            request.devices.map { device in
                guard isAdding else { return request.change }
                counted[device, default: 0] += request.change
                return max(0, (ends[device] ?? 0) - (totals[device] ?? 0) + (counted[device] ?? 0))
            }
        }
    }
}

/// The badges that a batch shows on its devices, as they are stored beside it: for each a number of up to five bytes, seven bits
/// each, the lowest first.
package enum BadgeList {
    package static func encode(_ numbers: [Int64]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(numbers.count)
        for number in numbers {
            var rest = UInt64(BadgeChange.kept(number))
            while rest >= 0x80 {
                bytes.append(UInt8(rest & 0x7F) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }
        return bytes
    }

    /// nil unless the list has exactly `count` numbers.
    package static func decode(_ bytes: [UInt8], count: Int) -> [Int64]? {
        var numbers: [Int64] = []
        var number: UInt64 = 0
        var shift: UInt64 = 0
        for byte in bytes {
            guard shift < 35 else { return nil }
            number |= UInt64(byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 {
                numbers.append(Int64(number))
                (number, shift) = (0, 0)
            }
        }
        return numbers.count == count && shift == 0 ? numbers : nil
    }
}
