/// Reads the times that other services write: `2020-03-06T18:52:59`, `2019-06-11 17:46:59.061 UTC`, with or without a zone
/// (then it is UTC), and seconds or milliseconds since 1970.
enum ImportTime {
    static func read(_ text: String) -> Instant? {
        if let number = Int64(text) { return read(number) }
        let bytes = Array(text.utf8)
        guard bytes.count >= 19, let date = digits(bytes[0..<10], separator: UInt8(ascii: "-"), [4, 2, 2]),
            bytes[10] == UInt8(ascii: "T") || bytes[10] == UInt8(ascii: " "),
            let time = digits(bytes[11..<19], separator: UInt8(ascii: ":"), [2, 2, 2]),
            1...12 ~= date[1], 1...31 ~= date[2], time[0] < 24, time[1] < 60, time[2] <= 60
        else { return nil }
        var rest = bytes[19...]
        var milliseconds: Int64 = 0
        if rest.first == UInt8(ascii: ".") {
            let fraction = rest.dropFirst().prefix { 0x30...0x39 ~= $0 }
            for place in 0..<3 {
                let digit = fraction.count > place ? Int64(fraction[fraction.startIndex + place] - 0x30) : 0
                milliseconds = milliseconds * 10 + digit
            }
            rest = rest.dropFirst(fraction.count + 1)
        }
        guard let zone = zone(rest) else { return nil }
        let seconds = days(date) * 86_400 + time[0] * 3_600 + time[1] * 60 + time[2] - zone
        return Instant(milliseconds: seconds * 1_000 + milliseconds)
    }

    /// Seconds where the number is too small for milliseconds of this century.
    static func read(_ number: Int64) -> Instant? {
        guard 0...4_000_000_000_000 ~= number else { return nil }
        return Instant(milliseconds: number < 100_000_000_000 ? number * 1_000 : number)
    }

    private static func digits(_ bytes: ArraySlice<UInt8>, separator: UInt8, _ widths: [Int]) -> [Int64]? {
        let parts = bytes.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.map(\.count) == widths else { return nil }
        var numbers: [Int64] = []
        for part in parts {
            guard let number = Int64(String(decoding: part, as: UTF8.self)), number >= 0 else { return nil }
            numbers.append(number)
        }
        return numbers
    }

    /// Seconds east of Greenwich; nil for what is no zone.
    private static func zone(_ bytes: ArraySlice<UInt8>) -> Int64? {
        switch String(decoding: bytes, as: UTF8.self) {
        case "", "Z", "z", " UTC", " GMT": return 0
        default:
            let signs: [UInt8: Int64] = [UInt8(ascii: "+"): 1, UInt8(ascii: "-"): -1]
            guard let first = bytes.first, let sign = signs[first] else { return nil }
            let plain = bytes.dropFirst().filter { $0 != UInt8(ascii: ":") }
            guard plain.count == 4, let number = Int64(String(decoding: plain, as: UTF8.self)) else { return nil }
            return sign * (number / 100 * 3_600 + number % 100 * 60)
        }
    }

    /// Days since 1970-01-01 in the Gregorian calendar. Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms",
    /// `days_from_civil`.
    private static func days(_ date: [Int64]) -> Int64 {
        let year = date[1] <= 2 ? date[0] - 1 : date[0]
        let era = year / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (date[1] + (date[1] > 2 ? -3 : 9)) + 2) / 5 + date[2] - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
