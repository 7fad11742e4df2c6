package import Outbound

/// The operator's options for providers that get one request for each device.
package struct PostingOptions: Sendable {
    /// How long one batch may take, from the first byte to the last answer.
    package var deadline: Duration
    /// How many connections a host gets that speaks HTTP/1.1, and so how many requests of it are under way at a time.
    package var connectionsPerHost: Int
    /// How many connections all hosts have together, for each route out of this process.
    package var connectionsMax: Int
    /// Private addresses that may be posted to although a device or a tenant names them.
    package var allowed: [AddressBlock]

    package init(
        deadline: Duration = .seconds(30), connectionsPerHost: Int = 64, connectionsMax: Int = 512,
        allowed: [AddressBlock] = []
    ) {
        self.deadline = deadline
        self.connectionsPerHost = connectionsPerHost
        self.connectionsMax = connectionsMax
        self.allowed = allowed
    }

    /// - Parameters:
    ///   - allowing: addresses or blocks of them as text.
    ///   - onFault: called with each text that is neither.
    package init(
        deadline: Duration, connectionsPerHost: Int, connectionsMax: Int, allowing texts: [String],
        onFault: (String) -> Void
    ) {
        let blocks = texts.compactMap { text in
            let block = AddressBlock(text)
            if block == nil { onFault(text) }
            return block
        }
        self.init(
            deadline: deadline, connectionsPerHost: connectionsPerHost, connectionsMax: connectionsMax, allowed: blocks)
    }
}
