/// A registration, or the end of one, that is also sent to an old server.
package struct MirrorEntry: Sendable, Hashable {
    /// In the order of the keys, entries of one device follow one another.
    package let key: Key<MirrorEntry>
    package let platformKey: Key<Platform>
    package let device: Key<Device>
    package let call: MirrorCall

    /// The most calls that wait for an old server: some days of registrations of a large installation.
    package static let backlogMax = 2_000_000

    package init(key: Key<MirrorEntry>, platformKey: Key<Platform>, device: Key<Device>, call: MirrorCall) {
        self.key = key
        self.platformKey = platformKey
        self.device = device
        self.call = call
    }
}

/// A request that an app made.
package struct MirrorCall: Sendable, Hashable {
    package enum Method: String, Sendable, Hashable, CaseIterable {
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    package let method: Method
    /// As the app sent it.
    package let body: [UInt8]

    package init(_ method: Method, body: [UInt8] = []) {
        self.method = method
        self.body = body
    }
}
