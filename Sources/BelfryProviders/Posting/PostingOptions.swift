package import Outbound

/// What an operator may set about the providers that are posted to, device by device.
package struct PostingOptions: Sendable {
    /// How long one batch may take, from the first byte to the last answer.
    package var deadline: Duration
    /// How many requests of one batch are under way at a time.
    package var width: Int
    /// Addresses that are not public and may be posted to all the same where a device or a tenant names them.
    package var allowed: [AddressBlock]

    package init(deadline: Duration = .seconds(30), width: Int = 64, allowed: [AddressBlock] = []) {
        self.deadline = deadline
        self.width = width
        self.allowed = allowed
    }

    /// - Parameters:
    ///   - allowing: addresses or blocks of them as text.
    ///   - onFault: told of each text that is neither.
    package init(deadline: Duration, width: Int, allowing texts: [String], onFault: (String) -> Void) {
        let blocks = texts.compactMap { text in
            let block = AddressBlock(text)
            if block == nil { onFault(text) }
            return block
        }
        self.init(deadline: deadline, width: width, allowed: blocks)
    }
}
