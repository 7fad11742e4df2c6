/// Reads the times that other services write: `2020-03-06T18:52:59`, `2019-06-11 17:46:59.061 UTC`, with or without a zone
/// (then it is UTC), and seconds or milliseconds since 1970. No device is older: an earlier
/// time, such as one of the year 26, is none.
enum ImportTime {
    static func read(_ text: String) -> Instant? {
        if let number = Int64(text) { return read(number) }
        guard text.utf8.count >= 19 else { return nil }
        var text = text
        for zone in [" UTC", " GMT"] where text.utf8.reversed().starts(with: zone.utf8.reversed()) {
            text.removeLast(zone.count)
        }
        let blank = text.utf8.index(text.startIndex, offsetBy: 10)
        if text.utf8[blank] == UInt8(ascii: " ") { text.replaceSubrange(blank...blank, with: "T") }
        // As `Z`, `+01:00` or `+0100`.
        let compact = text.utf8.suffix(5)
        if compact.first.map({ [UInt8(ascii: "+"), UInt8(ascii: "-")].contains($0) }) == true {
            text.insert(":", at: text.utf8.index(text.endIndex, offsetBy: -2))
        }
        guard let time = Instant(text: text) ?? Instant(text: text + "Z"), time >= .zero else { return nil }
        return time
    }

    /// Seconds where the number is too small for milliseconds of this century.
    static func read(_ number: Int64) -> Instant? {
        guard 0...4_000_000_000_000 ~= number else { return nil }
        return Instant(milliseconds: number < 100_000_000_000 ? number * 1_000 : number)
    }
}
