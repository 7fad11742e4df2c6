extension Outbound {
    /// What a stranger wrote, fit for a log or a page: visible ASCII and spaces, 200 characters at most.
    public static func plain(_ text: some Sequence<UInt8>) -> String {
        String(decoding: text.lazy.map { 0x20...0x7E ~= $0 ? $0 : UInt8(ascii: " ") }.prefix(200), as: UTF8.self)
    }
}
