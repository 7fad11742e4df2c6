/// A text that a person has written in Compose and not sent yet.
package struct ComposeDraft: Sendable, Hashable {
    /// The place where it was written; each place has one draft.
    package struct Place: Sendable, Hashable {
        package let person: Key<Person>
        package let application: Key<Application>
        /// The schedule that it changes; nil for a new push.
        package let schedule: Key<Schedule>?
        /// Tells new pushes apart, since each tab has its own; 0 for a schedule.
        package let number: Int64

        package init(
            _ person: Key<Person>, _ application: Key<Application>, _ schedule: Key<Schedule>? = nil, number: Int64 = 0
        ) {
            (self.person, self.application, self.schedule) = (person, application, schedule)
            self.number = schedule == nil ? number : 0
        }
    }

    /// A draft of a new push, in a list.
    package struct Entry: Sendable, Hashable {
        /// See `Place.number`.
        package let number: Int64
        package let savedAt: Instant

        package init(number: Int64, savedAt: Instant) { (self.number, self.savedAt) = (number, savedAt) }
    }

    /// The fields of the form, URL-encoded.
    package let text: String
    package let savedAt: Instant

    package init(text: String, savedAt: Instant) { (self.text, self.savedAt) = (text, savedAt) }

    /// The most drafts of one person; the oldest is deleted for a new one.
    package static let perPersonMax = 20
    package static let bytesMax = 512 << 10
    package static let lifetime = Duration.seconds(7 * 86_400)
}
