/// The operator's options for APNs.
package struct APNsOptions: Sendable {
    /// How many connections one platform may open.
    package var connectionsMax: Int
    /// How long one batch may take, from the first byte to the last answer.
    package var deadline: Duration
    /// Whether payloads carry `receiptId`, which the client SDKs need for analytics.
    package var sendsReceiptID: Bool
    /// How long a device waits whose message met an internal error of APNs. Source: Apple, "Handling notification
    /// responses from APNs", 15 minutes.
    package var serverErrorWait: Duration

    package init(
        connectionsMax: Int = 8, deadline: Duration = .seconds(20), sendsReceiptID: Bool = true,
        serverErrorWait: Duration = .seconds(15 * 60)
    ) {
        self.connectionsMax = connectionsMax
        self.deadline = deadline
        self.sendsReceiptID = sendsReceiptID
        self.serverErrorWait = serverErrorWait
    }
}
