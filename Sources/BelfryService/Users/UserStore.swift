/// The users of applications, by their ids; see `User`.
package protocol UserStore: Sendable {
    func user(_ id: String, of application: Key<Application>) async throws -> User?
    /// The next users after an id, in the order of the bytes of their ids.
    ///
    /// - Parameter text: a part of the id; case matters.
    func users(
        of application: Key<Application>, containing text: String?, after id: String?, limit: Int
    ) async throws -> [User]
    /// The next users after an id whose ids have a prefix, in the order of their bytes. It walks an index: other users cost nothing.
    func users(
        of application: Key<Application>, beginning prefix: IDPrefix, after id: String?, limit: Int
    ) async throws -> [User]
    /// The next users behind one, in the order of the bytes of their ids; nil where there is no such user.
    func users(of application: Key<Application>, after: Key<User>?, limit: Int) async throws -> [FoundUser]?
    /// The next users, behind one, whose attribute has this value and type, in the order in which they were made. It walks an index: other
    /// users cost nothing.
    func users(
        of application: Key<Application>, having name: String, _ value: UserAttribute, after: Key<User>?, limit: Int
    ) async throws -> [FoundUser]
    /// Creates or changes the user in one transaction.
    ///
    /// - Parameter change: gets the present profile, empty for a new user.
    func setUser(
        _ id: String, of application: Key<Application>,
        change: @escaping @Sendable (UserProfile) throws -> UserProfile
    ) async throws -> User
    /// Returns false when there is none.
    func deleteUser(_ id: String, of application: Key<Application>) async throws -> Bool

    /// The active devices of a user, at most `limit`.
    func devices(ofUser id: String, on platforms: [Key<Platform>], limit: Int) async throws -> [Device]
    /// Removes the traces of a user from inactive devices: the custom user id, the alias, language and time zone.
    func forgetUser(of devices: [Key<Device>]) async throws
}

/// The beginning of an id; case matters.
package struct IDPrefix: Sendable, Hashable {
    package let text: String

    package init(_ text: String) { self.text = text.normalized }

    /// A text above all ids with the prefix, in the order of bytes. The last code point is not a character, so no id has it.
    package var end: String { text + "\u{10FFFF}" }

    /// The start of a scan for ids after `id`; it may be `id` itself.
    package func start(after id: String?) -> String {
        guard let id, text.utf8.lexicographicallyPrecedes(id.utf8) else { return text }
        return id
    }
}

/// A user in a list, and the user's position in it.
package struct FoundUser: Sendable, Hashable {
    package let key: Key<User>
    package let user: User

    package init(key: Key<User>, user: User) {
        self.key = key
        self.user = user
    }
}
