/// How many streams may be open: what the server allows, what we want, and the limit before authentication is proven.
struct StreamWindow {
    /// Assumed where the server names no limit. Source: RFC 9113 §6.5.2 recommends no less than 100.
    static let unstated = 100

    let most: Int
    private let initial: Int?
    private var remote = unstated
    private(set) var isProven: Bool
    var active = 0

    init(most: Int, initial: Int?) {
        self.most = most
        self.initial = initial
        isProven = initial == nil
    }

    var limit: Int {
        let allowed = min(most, remote)
        return isProven ? allowed : min(allowed, initial ?? allowed)
    }

    /// The limit once authentication is proven.
    var provenLimit: Int { min(most, remote) }

    var room: Int { max(0, limit - active) }

    /// The server's SETTINGS_MAX_CONCURRENT_STREAMS, which may change at any time; `UInt32.max` where it gave none.
    mutating func allow(_ streams: UInt32) {
        remote = streams == .max ? Self.unstated : Int(streams)
    }

    mutating func prove() { isProven = true }
}
