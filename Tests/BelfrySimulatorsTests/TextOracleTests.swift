import BelfryService
import BelfryTesting
import Testing

@testable import BelfrySimulators

/// Holds the readers of names and times to Python's; see `Scripts/text-oracle`.
@Suite struct TextOracleTests {
    @Test func `every character folds and composes as Python's`() async throws {
        let answer = try #require(try await Oracle.ask([["do": "scalars"]], of: "text-oracle").first)
        let unassigned = try #require(answer["unassigned"]?.strings).map { range in
            let ends = range.split(separator: "-").compactMap { UInt32($0, radix: 16) }
            return ends[0]...ends[1]
        }
        let (folded, normalized) = (try forms(answer, "folded"), try forms(answer, "normalized"))
        #expect(folded.count > 1_400 && normalized.count > 1_000)
        var (differing, compared, range) = ([String](), 0, 0)
        for point in UInt32(0)..<0x11_0000 {
            while range < unassigned.count, unassigned[range].upperBound < point { range += 1 }
            guard range == unassigned.count || !unassigned[range].contains(point),
                let character = Unicode.Scalar(point).map(String.init)
            else { continue }
            compared += 1
            let points = points(character)
            if self.points(character.caseFolded) != folded[points] ?? points { differing.append(points) }
            if self.points(character.normalized) != normalized[points] ?? points { differing.append(points) }
        }
        #expect(differing.isEmpty && compared > 250_000)
    }

    @Test(arguments: [1, 2] as [UInt64])
    func `random names fold and compose as Python's`(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        let names = (0..<2_000).map { _ in Self.name(&random) }
        let answers = try await Oracle.ask(names.map { ["do": "fold", "text": points($0)] }, of: "text-oracle")
        for (name, answer) in zip(names, answers) {
            #expect(points(name.caseFolded) == answer["folded"]?.string, "\(points(name))")
            #expect(points(name.normalized) == answer["normalized"]?.string, "\(points(name))")
            #expect(points(name.caseFolded.caseFolded) == points(name.caseFolded), "\(points(name))")
        }
    }

    @Test(arguments: [1, 2] as [UInt64])
    func `random times are read as by Python, or refused`(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        let times = (0..<5_000).map { _ in Self.time(&random) }
        let answers = try await Oracle.ask(times.map { ["do": "time", "text": points($0)] }, of: "text-oracle")
        var readable = 0
        for (time, answer) in zip(times, answers) {
            let instant = Instant(text: time)
            #expect((instant?.milliseconds).map(String.init) ?? "" == answer["milliseconds"]?.string, "\(time)")
            guard let instant else { continue }
            readable += 1
            #expect(Instant(text: instant.text) == instant, "\(time)")
        }
        #expect(readable > 500 && readable < 4_000)
    }

    private func points(_ text: String) -> String {
        text.unicodeScalars.map { String($0.value, radix: 16) }.joined(separator: " ")
    }

    private func forms(_ answer: JSON, _ name: String) throws -> [String: String] {
        let pairs = try #require(answer[name]?.strings)
        var forms: [String: String] = [:]
        for pair in pairs {
            let parts = pair.split(separator: "=")
            forms[String(parts[0])] = String(parts[1])
        }
        return forms
    }

    /// Mostly letters that have case or compose, and what may stand on them in any order.
    private static func name(_ random: inout SplitMix64) -> String {
        let blocks: [ClosedRange<UInt32>] = [
            0x41...0x7A, 0xC0...0x17F, 0x300...0x345, 0x370...0x3FF, 0x1E00...0x1FFF, 0x13A0...0x13FD, 0xAB70...0xABBF,
            0x1100...0x11A8, 0xAC00...0xAC1C, 0x0958...0x095F, 0xFB00...0xFB06, 0x10400...0x1044F, 0x1F600...0x1F64F,
        ]
        var name = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 1...12, using: &random) {
            let block = blocks[Int.random(in: 0..<blocks.count, using: &random)]
            if let scalar = Unicode.Scalar(UInt32.random(in: block, using: &random)),
                scalar.properties.generalCategory != .unassigned
            {
                name.append(scalar)
            }
        }
        return String(name)
    }

    /// A time, mostly with numbers that are a little out of their range, and now and then with a character changed.
    private static func time(_ random: inout SplitMix64) -> String {
        func number(_ range: ClosedRange<Int>, _ digits: Int) -> String {
            let text = String(Int.random(in: range, using: &random))
            return String(repeating: "0", count: max(0, digits - text.count)) + text
        }
        func one(of texts: String...) -> String { texts[Int.random(in: 0..<texts.count, using: &random)] }
        let day = number(0...13, 2) + "-" + number(0...32, 2)
        let clock =
            one(of: "23:59", number(0...24, 2) + ":" + number(0...60, 2)) + ":" + one(of: "60", number(0...61, 2))
        let fraction = one(of: "", "", ".", "." + number(0...9, 1), "." + number(0...999_999_999, 9))
        let offset = one(of: "+", "-") + number(0...24, 2) + ":" + number(0...60, 2)
        var text =
            number(0...9_999, 4) + "-" + day + one(of: "T", "t", "T", " ") + clock + fraction
            + one(of: "Z", "Z", "z", "+00:00", "-00:00", offset, offset, "", "Zfoo")
        if Int.random(in: 0..<8, using: &random) == 0 {
            let place = text.index(text.startIndex, offsetBy: Int.random(in: 0..<text.count, using: &random))
            text.replaceSubrange(place...place, with: one(of: "", "٣", "-", "0", ":", "\u{301}", "+"))
        }
        return text
    }
}
