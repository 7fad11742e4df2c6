import BelfryService
import BelfryTesting
import FoundationEssentials
import Testing

@Suite struct TextGramsTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func `any part of five bytes is found by a sequence`(seed: UInt64) {
        var dice = SplitMix64(seed: seed)
        for _ in 0..<500 {
            let text = (0..<Int.random(in: 5...60, using: &dice)).map { _ in UInt8.random(in: 0x61...0x64, using: &dice)
            }
            var kept: Set<UInt16> = []
            TextGrams.each(in: text[...]) { kept.insert($0) }
            let length = Int.random(in: 5...text.count, using: &dice)
            let start = Int.random(in: 0...(text.count - length), using: &dice)
            let sequences = TextGrams.sequences(in: Array(text[start..<start + length])) ?? []
            #expect(sequences.contains { kept.isSuperset(of: $0) }, "\(text) from \(start), \(length) bytes")
        }
    }

    @Test func `a short part says nothing`() {
        #expect(TextGrams.sequences(in: Array("abcd".utf8)) == nil)
        #expect(TextGrams.sequences(in: Array("abcde".utf8))?.count == 2)
    }

    @Test func `an absent text is mostly ruled out`() {
        var kept: Set<UInt16> = []
        TextGrams.each(in: Array("0123456789abcdef".utf8)[...]) { kept.insert($0) }
        let sequences = TextGrams.sequences(in: Array("fedcba9876".utf8)) ?? []
        #expect(!sequences.contains { kept.isSuperset(of: $0) })
    }
}

@Suite struct DeviceTextTests {
    private static let uuid = UUID(uuidString: "0123ABCD-4567-89EF-8000-0123456789AB") ?? UUID()

    private func text(_ kind: PlatformKind = .ios) -> DeviceText {
        let token: [UInt8] = kind == .ios ? [0xDE, 0xAD, 0xBE, 0xEF] : Array("APA91b_Token".utf8)
        return DeviceText(
            uuid: Self.uuid, token: DeviceToken(bytes: token), kind: kind, customUserID: "Bond007",
            alias: "MÜLLERs iPhone")
    }

    @Test(arguments: [
        "0123abcd-4567", "deadbeef", "eadbe", "bond007", "nd00", "müllers", "s iphone", "", "e",
    ])
    func `any part of any text is found, ignoring case`(part: String) {
        #expect(text().contains(Array(part.utf8)))
    }

    @Test(arguments: ["bond008", "beef0", "abbond", "apa91"])
    func `a part in no single text is not found`(part: String) {
        #expect(!text().contains(Array(part.utf8)))
    }

    @Test func `tokens of other providers are text`() {
        #expect(text(.androidFCM).contains(Array("apa91b_tok".utf8)))
        #expect(!text(.androidFCM).contains(Array("deadbeef".utf8)))
    }
}
