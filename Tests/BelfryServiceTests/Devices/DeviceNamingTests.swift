import BelfryService
import BelfryTesting
import FoundationEssentials
import Testing

@Suite struct DeviceNamingTests {
    private let naming = DeviceNaming(secret: Array(0..<32))
    private static let keys: [Key<Device>] =
        (1...50).map(Key.init) + (0..<61).map { Key(1 << $0) } + (1..<61).map { Key((1 << $0) - 1) }

    @Test func `a UUID leads back to its device`() {
        for key in Self.keys { #expect(naming.device(of: naming.uuid(of: key)) == key) }
    }

    @Test func `a UUID is of version 8`() {
        for key in Self.keys {
            let text = naming.uuid(of: key).uuidString
            #expect(text.dropFirst(14).first == "8", "\(text)")
            #expect("89AB".contains(text.dropFirst(19).first ?? " "), "\(text)")
        }
    }

    @Test func `two devices never share a UUID`() {
        let uuids = Set((1...5_000).map { naming.uuid(of: Key($0)) })
        #expect(uuids.count == 5_000)
    }

    @Test func `a UUID with any one bit changed is no device's`() {
        let (first, second) = naming.uuid(of: Key(77)).words
        for bit in 0..<64 {
            #expect(naming.device(of: UUID(words: first ^ 1 << bit, second)) == nil, "bit \(bit) of the first word")
            #expect(naming.device(of: UUID(words: first, second ^ 1 << bit)) == nil, "bit \(bit) of the second word")
        }
    }

    @Test func `a UUID of chance is no device's`() {
        var random = SplitMix64(seed: 2)
        for _ in 0..<1_000 {
            let uuid = UUID(words: random.next() & ~0xF000 | 0x8000, random.next() & ~(0b11 << 62) | 0b10 << 62)
            #expect(naming.device(of: uuid) == nil)
        }
        #expect(naming.device(of: UUID()) == nil)
        #expect(naming.device(of: UUID(words: 0, 0)) == nil)
    }

    @Test func `another secret neither gives nor takes the same UUIDs`() {
        let other = DeviceNaming(secret: Array(1..<33))
        for key in Self.keys {
            #expect(other.uuid(of: key) != naming.uuid(of: key))
            #expect(other.device(of: naming.uuid(of: key)) == nil)
        }
    }

    /// Half of the 122 free bits differ between neighbours if nothing shows through.
    @Test func `neighbours look unrelated`() {
        let differing = (1...1_000).map { (key: Int64) in
            let (left, right) = (naming.uuid(of: Key(key)).words, naming.uuid(of: Key(key + 1)).words)
            return (left.0 ^ right.0).nonzeroBitCount + (left.1 ^ right.1).nonzeroBitCount
        }
        #expect((58...64).contains(differing.reduce(0, +) / differing.count))
        #expect(differing.allSatisfy { $0 > 25 })
    }
}
