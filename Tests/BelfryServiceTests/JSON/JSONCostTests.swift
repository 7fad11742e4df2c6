import Foundation
import Testing

@testable import BelfryService

/// Whatever its shape, a text costs about what a flat one of the same length does, on a thread with a small stack too.
///
/// A ratio of two CPU times in one process: `JSONDecoder` into a type that guesses took some hundred times as much for what
/// is nested, and grew with the cube of the depth.
@Suite(.serialized) struct JSONCostTests {
    /// The bytes of each text.
    static let length = 16_384

    enum Shape: String, CaseIterable {
        case nestedArrays, nestedObjects, manyNests, manyObjects, emptyArrays, escapes, wideKeys, numbers
    }

    /// `[1,1,1,…]`
    static let flat = "[" + repeated("1,") + "1]"

    static func text(_ shape: Shape) -> String {
        func nest(_ open: String, _ inner: String, _ close: String, _ depth: Int) -> String {
            String(repeating: open, count: depth) + inner + String(repeating: close, count: depth)
        }
        return switch shape {
        case .nestedArrays: nest("[", repeated("1,") + "1", "]", 64)
        case .nestedObjects: nest(#"{"a":"#, "[" + repeated("1,") + "1]", "}", 63)
        case .manyNests: "[" + repeated(nest("[", "1", "]", 63) + ",") + "1]"
        case .manyObjects: "[" + repeated(#"{"key":"value"},"#) + "1]"
        case .emptyArrays: "[" + repeated("[],") + "1]"
        case .escapes: "\"" + repeated(#"\u00fc"#) + "\""
        case .wideKeys: "{" + (0..<(length / 16)).map { "\"é\u{301}\($0 + 100_000)\":1" }.joined(separator: ",") + "}"
        case .numbers: "[" + repeated("-1.25e-17,") + "1]"
        }
    }

    private static func repeated(_ part: String) -> String {
        String(repeating: part, count: length / part.utf8.count)
    }

    @Test(arguments: Shape.allCases)
    func `nested text costs what flat text costs`(shape: Shape) throws {
        let (text, flat) = (Array(Self.text(shape).utf8), Array(Self.flat.utf8))
        let (value, flatValue) = (try JSONValue(json: text), try JSONValue(json: flat))
        #expect(try ratio({ _ = try JSONValue(json: text) }, to: { _ = try JSONValue(json: flat) }) <= 5)
        #expect(try ratio({ _ = value.storedText }, to: { _ = flatValue.storedText }) <= 5)
    }

    @Test func `texts that Unicode takes for equal differ in hash`() {
        let texts = ["a\u{301}\u{323}", "a\u{323}\u{301}"]
        #expect(texts[0] == texts[1] && KeyBytes(texts[0]) != KeyBytes(texts[1]))
        #expect(KeyBytes(texts[0]).hashValue != KeyBytes(texts[1]).hashValue)
        #expect(JSONValue.string(texts[0]).hashValue != JSONValue.string(texts[1]).hashValue)
    }

    @Test func `a token nested to the limit costs a flat one's`() throws {
        func token(_ depth: Int) -> String {
            let ones = Array(repeating: "1", count: (4_000 - 2 * depth) / 2).joined(separator: ",")
            return String(repeating: "[", count: depth) + ones + String(repeating: "]", count: depth)
        }
        func read(_ text: String) { _ = try? DeviceToken(text, for: .web) }
        for depth in [64, 400] { #expect(try ratio({ read(token(depth)) }, to: { read(token(1)) }) <= 5) }
    }

    @Test func `reading content back costs in proportion to length`() throws {
        func content(_ text: String) throws -> [UInt8] {
            Array(Push.Content(body: nil, custom: ["own": try JSONValue(json: text.utf8)]).storedText.utf8)
        }
        let nested = try content(String(Self.text(.nestedArrays).dropFirst(4).dropLast(4)))
        let flat = try content(Self.flat)
        let ratio = try ratio({ _ = try Push.Content(stored: nested) }, to: { _ = try Push.Content(stored: flat) })
        #expect(ratio <= 5)
    }

    /// The threads of `ConnectionPool` have 1 MiB, and the frames of a debug build are large.
    @Test func `the deepest text fits a 1 MiB thread stack`() async throws {
        let deepest = [
            String(repeating: "[", count: 64) + String(repeating: "]", count: 64),
            String(repeating: #"{"a":"#, count: 63) + "[1.5]" + String(repeating: "}", count: 63),
        ]
        for text in deepest {
            let written = try await onSmallStack { try JSONValue(json: text.utf8).storedText }
            #expect(written == text)
        }
        let content = #"{"custom":{"own":\#(String(repeating: "[", count: 62))\#(String(repeating: "]", count: 62))}}"#
        let written = try await onSmallStack { try Push.Content(stored: Array(content.utf8)).storedText }
        #expect(written == content)
    }

    private func onSmallStack<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread { continuation.resume(with: Result { try work() }) }
            thread.stackSize = 1 << 20
            thread.start()
        }
    }

    /// How many times the CPU of the second the first takes: the medians of several runs each, in turns.
    private func ratio(_ first: () throws -> Void, to second: () throws -> Void) throws -> Double {
        try first()
        try second()
        var times: (first: [Double], second: [Double]) = ([], [])
        for _ in 1...9 {
            times.first.append(try cpu(first))
            times.second.append(try cpu(second))
        }
        return times.first.sorted()[4] / max(times.second.sorted()[4], 1e-9)
    }

    /// Seconds of this thread's CPU.
    private func cpu(_ work: () throws -> Void) rethrows -> Double {
        let start = now()
        try work()
        return now() - start
    }

    private func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
