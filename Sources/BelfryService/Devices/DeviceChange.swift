/// The changes an operator makes to a device.
package struct DeviceChange: Sendable, Hashable {
    /// nil leaves it as it is; `""` is none.
    package let alias: String?
    package let customUserID: Registration.Change<String>
    package let topics: Registration.TopicChange

    package init(
        alias: String? = nil, customUserID: Registration.Change<String> = .keep,
        topics: Registration.TopicChange = .keep
    ) {
        self.alias = alias
        self.customUserID = customUserID
        self.topics = topics
    }
}
