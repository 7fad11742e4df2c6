/// The operator's options for FCM.
package struct FCMOptions: Sendable {
    /// How many connections one platform may open.
    package var connectionsMax: Int
    /// How long one batch may take, from asking for a token to the last answer.
    package var deadline: Duration
    /// Google's limit for one project.
    package var messagesPerMinute: Int

    package init(connectionsMax: Int = 10, deadline: Duration = .seconds(30), messagesPerMinute: Int = 600_000) {
        self.connectionsMax = connectionsMax
        self.deadline = deadline
        self.messagesPerMinute = messagesPerMinute
    }
}
