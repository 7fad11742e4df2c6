package import Outbound

/// The operator's options for providers that get one request for each device.
package struct PostingOptions: Sendable {
    /// How long one batch may take, from the first byte to the last answer.
    package var deadline: Duration
    /// How many requests of one batch are under way at a time.
    package var width: Int
    /// Private addresses that may be posted to although a device or a tenant names them.
    package var allowed: [AddressBlock]

    package init(deadline: Duration = .seconds(30), width: Int = 64, allowed: [AddressBlock] = []) {
        self.deadline = deadline
        self.width = width
        self.allowed = allowed
    }

    /// - Parameters:
    ///   - allowing: addresses or blocks of them as text.
    ///   - onFault: called with each text that is neither.
    package init(deadline: Duration, width: Int, allowing texts: [String], onFault: (String) -> Void) {
        let blocks = texts.compactMap { text in
            let block = AddressBlock(text)
            if block == nil { onFault(text) }
            return block
        }
        self.init(deadline: deadline, width: width, allowed: blocks)
    }
}
