package import FoundationEssentials

/// A message that a trigger sent to a contact, and its page.
package struct CarmaMessage: Sendable, Hashable {
    package let key: Key<CarmaMessage>
    package let applicationKey: Key<Application>
    package let trigger: Key<CarmaTrigger>
    package let contact: String
    package let name: String
    package let html: String
    /// The receipt of its push, or the schedule that it waits in.
    package let receiptID: UUID?
    package let schedule: Key<Schedule>?
    package let sentAt: Instant
    package let readAt: Instant?

    /// The most messages that are kept of a contact: the latest.
    package static let perContact = 100

    package init(
        key: Key<CarmaMessage>, applicationKey: Key<Application>, trigger: Key<CarmaTrigger>, contact: String,
        name: String, html: String, receiptID: UUID?, schedule: Key<Schedule>?, sentAt: Instant, readAt: Instant?
    ) {
        self.key = key
        self.applicationKey = applicationKey
        self.trigger = trigger
        self.contact = contact
        self.name = name
        self.html = html
        self.receiptID = receiptID
        self.schedule = schedule
        self.sentAt = sentAt
        self.readAt = readAt
    }
}

package struct NewCarmaMessage: Sendable, Hashable {
    package let applicationKey: Key<Application>
    package let trigger: Key<CarmaTrigger>
    package let contact: String
    package let name: String
    package let html: String
    /// SHA-256 of the last part of the page's address.
    package let pageHash: [UInt8]

    package init(
        applicationKey: Key<Application>, trigger: Key<CarmaTrigger>, contact: String, name: String, html: String,
        pageHash: [UInt8]
    ) {
        self.applicationKey = applicationKey
        self.trigger = trigger
        self.contact = contact
        self.name = name
        self.html = html
        self.pageHash = pageHash
    }
}
