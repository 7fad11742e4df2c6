/// What an operator may set about APNs.
package struct APNsOptions: Sendable {
    /// How many connections one platform may open.
    package var connectionsMax: Int
    /// How long one page may take, from the first byte to the last answer.
    package var deadline: Duration
    /// Whether payloads carry `receiptId`, which the client SDKs need for analytics.
    package var sendsReceiptID: Bool

    package init(connectionsMax: Int = 8, deadline: Duration = .seconds(20), sendsReceiptID: Bool = true) {
        self.connectionsMax = connectionsMax
        self.deadline = deadline
        self.sendsReceiptID = sendsReceiptID
    }
}
