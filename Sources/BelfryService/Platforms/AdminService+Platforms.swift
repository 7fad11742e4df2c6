import FoundationEssentials

extension AdminService {
    /// Validates the credentials and stores them sealed. Throws `InvalidInput` with the reason when they cannot be
    /// used.
    ///
    /// A platform of a type that no provider here delivers to takes no credentials. Its devices register and its pushes
    /// are accepted; it is parked, and its batches wait.
    ///
    /// - Parameters:
    ///   - mode: nil where the provider has none.
    ///   - identity: the identity at another server; missing parts are made.
    package func createPlatform(
        of application: Application, kind: PlatformKind, mode: Platform.Mode?, name: Name,
        description: Description? = nil, identity: PlatformIdentity? = nil,
        credentials entered: [String: JSONValue], by author: AuditAuthor
    ) async throws -> CreatedPlatform {
        let (uuid, secret) = (identity?.uuid ?? UUID(), identity?.secret?.text ?? UUID().lowercased)
        let mode = try kind.mode(mode)
        let sealed = try await credentials.sealed(
            entered, kind: kind, mode: mode, platform: uuid, by: author.credentials, for: ShareHolder(application))
        let new = NewPlatform(
            uuid: uuid, applicationKey: application.key, kind: kind, mode: mode, name: name.text,
            secretHash: SecretHash.of(secret), credentials: sealed.seal, facts: sealed.facts,
            description: description?.text ?? "")
        let change = AuditedChange(
            by: author, "platform.create", uuid.lowercased, of: Permission.Subject(application),
            ["name": name.text, "type": kind.rawValue, "mode": mode.rawValue])
        let platform = try await store.audited(change) {
            let platform = try await store.create(new)
            guard let parking = credentials.parking(of: kind) else { return platform }
            try await store.park(platform.key, parking)
            return try await store.platform(platform.key) ?? platform
        }
        return CreatedPlatform(platform: platform, secret: secret)
    }

    package func edit(
        _ platform: Platform, of application: Application, _ edit: PlatformEdit, by author: AuditAuthor
    ) async throws {
        var details: [String: String] = [:]
        details["name"] = edit.name?.text
        details["description"] = edit.description?.text
        details["mode"] = edit.mode?.rawValue
        let change = AuditedChange(by: author, "platform.edit", platform, of: application, details)
        try await store.audited(change) { try await store.edit(platform.key, edit) }
    }

    package func delete(
        _ platform: Platform, of application: Application, force: Bool, by author: AuditAuthor
    ) async throws {
        let details = ["name": platform.name, "force": String(force)]
        let change = AuditedChange(by: author, "platform.delete", platform, of: application, details)
        try await store.audited(change) { try await store.delete(platform.key, force: force) }
    }

    /// Replaces the credentials; batches that waited for them are sent. Returns the names of the fields that stayed as
    /// they were, because none of their name was entered.
    @discardableResult package func replaceCredentials(
        of platform: Platform, of application: Application, with entered: [String: JSONValue], by author: AuditAuthor
    ) async throws -> [String] {
        if let parking = credentials.parking(of: platform.kind) {
            throw InvalidInput(field: "credentials", "are not taken: \(parking.detail)")
        }
        let replacement = try await credentials.replacement(
            of: platform, by: entered, of: author.credentials, for: ShareHolder(application))
        let change = AuditedChange(by: author, "platform.replace_credentials", platform, of: application)
        try await store.audited(change) {
            try await store.replaceCredentials(
                of: platform.key, with: replacement.sealed.seal, facts: replacement.sealed.facts)
        }
        return replacement.kept
    }

    /// Connects to the provider and asks whether it accepts the platform's credentials; no device is notified. It
    /// changes nothing here, but it uses a key, so it leaves a line in the audit log too.
    package func testCredentials(
        of platform: Platform, of application: Application, by author: AuditAuthor
    ) async throws -> CredentialsTest {
        let devices = try await store.devices(DeviceSearch(platforms: [platform.key]), after: nil, limit: 20)
        let test = await credentials.test(platform, devices: devices.filter(\.isActive).compactMap(\.token))
        let change = AuditedChange(
            by: author, "platform.test_credentials", platform, of: application, ["result": test.name])
        try await store.audited(change) {}
        return test
    }

    package func park(
        _ platform: Platform, of application: Application, because reason: String, by author: AuditAuthor
    ) async throws {
        let change = AuditedChange(by: author, "platform.park", platform, of: application, ["reason": reason])
        let parking = Parking(cause: .operator, detail: reason, since: clock.now)
        try await store.audited(change) { try await store.park(platform.key, parking) }
    }

    package func resume(_ platform: Platform, of application: Application, by author: AuditAuthor) async throws {
        let change = AuditedChange(by: author, "platform.resume", platform, of: application)
        try await store.audited(change) { try await store.resume(platform.key) }
    }

    /// The facts that are shown of a platform's credentials. Credentials that an older version stored are examined once.
    package func facts(of platform: Platform) async throws -> CredentialFacts {
        try await credentials.facts(of: platform, in: store)
    }
}

extension PlatformKind {
    /// The mode that a platform of the kind has: `production` where none was given and none is needed.
    fileprivate func mode(_ given: Platform.Mode?) throws(InvalidInput) -> Platform.Mode {
        if let given { return given }
        guard !hasModes else {
            throw InvalidInput(field: "mode", "is missing: platforms of type \(rawValue) are development or production")
        }
        return .production
    }
}
