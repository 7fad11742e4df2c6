package import FoundationEssentials

/// A list of contacts that a back end imports, and the result.
package struct CarmaImport: Sendable, Hashable {
    /// Callers see it as the id of the batch.
    package let key: Key<CarmaImport>
    package let uuid: UUID
    package let app: Key<CarmaApp>
    package let settings: Settings
    package var state = State.waiting
    package var taken = 0
    package var refused = 0
    /// The reason why the first refused row was refused, or why nothing was imported.
    package var reason: String?
    package let createdAt: Instant

    /// The settings of an import, which are known before its list comes. Source: help.symplify.com, "API database import".
    package struct Settings: Sendable, Hashable {
        package let kind: Kind
        /// A byte of ASCII.
        package let delimiter: UInt8
        package let encoding: Encoding
        /// The column that holds the contact's `originalId`.
        package let identityColumn: String

        package enum Kind: String, Sendable, Hashable, CaseIterable {
            case add = "ADD"
            /// Contacts that the list does not name become inactive.
            case replace = "REPLACE"
            /// The contacts that it names are opted out.
            case unsubscribe = "UNSUBSCRIBE"
        }

        package enum Encoding: String, Sendable, Hashable, CaseIterable {
            case utf8 = "UTF8"
            case latin1 = "ISO-8859-1"
        }
    }

    package enum State: Int64, Sendable, Hashable {
        case waiting = 0
        /// The list has come and is being imported; it stays so for good if the server died meanwhile.
        case running = 1
        case finished = 2
        case failed = 3
    }

    /// The most imports that are kept of an app: the latest.
    package static let perApp = 1_000
    package static let reasonBytesMax = 1_024
}

/// The result of an import's list.
package struct CarmaImportEnd: Sendable, Hashable {
    package let taken: Int
    package let refused: Int
    package let reason: String?

    /// Failed if nothing of the list could be imported; a list without rows has not failed.
    package var state: CarmaImport.State { taken == 0 && reason != nil ? .failed : .finished }
}
