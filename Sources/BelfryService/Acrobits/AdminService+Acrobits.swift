extension AdminService {
    /// Sets the platform of an app id of Acrobits' softphones. An app id may name one platform of Apple's and one of another provider's.
    package func setAcrobitsAppID(
        _ name: String, on platform: Platform, payload: AcrobitsPayloadTemplate?, of application: Application,
        by author: AuditAuthor
    ) async throws -> AcrobitsAppID {
        try AcrobitsAppID.check(name: name)
        let all = try await store.acrobitsAppIDs(of: application.key)
        guard all.count < AcrobitsAppID.countMax || all.contains(where: { $0.name == name }) else {
            throw StoreError.conflict(
                "the application has \(all.count) app ids, the limit is \(AcrobitsAppID.countMax)")
        }
        for other in all where other.name == name && other.platformKey != platform.key {
            guard let known = try await store.platform(other.platformKey),
                known.kind.isReachedByAPNs == platform.kind.isReachedByAPNs
            else { continue }
            throw StoreError.conflict("the app id stands for the platform \(known.uuid.lowercased) already")
        }
        try await checkClaim(name, of: application, by: author)
        let appID = AcrobitsAppID(
            name: name, applicationKey: application.key, platformKey: platform.key, payload: payload)
        let details = ["app_id": name, "platform": platform.uuid.lowercased]
        let change = AuditedChange(by: author, "acrobits_app_id.set", application, details)
        try await store.audited(change) { try await store.set(appID) }
        return appID
    }

    /// Throws where the path without a key leads to this application and to another that has the app id: one of them would get the
    /// other's messages, so an operator has to confirm that both are meant.
    private func checkClaim(_ name: String, of application: Application, by author: AuditAuthor) async throws {
        guard author.credentials != .operator else { return }
        let plain = Set(try await store.plainOpenEndpoints(.acrobitsMediator).map(\.application))
        guard plain.contains(application.key) else { return }
        let others = try await store.acrobitsAppIDs(named: name, of: plain.subtracting([application.key]))
        guard !others.isEmpty else { return }
        throw StoreError.conflict(
            "another application that the mediator's path without a key leads to has the app id: an operator has to set it"
        )
    }

    package func deleteAcrobitsAppID(
        _ name: String, of application: Application, by author: AuditAuthor
    ) async throws {
        let change = AuditedChange(by: author, "acrobits_app_id.delete", application, ["app_id": name])
        try await store.audited(change, orUnknown: "app id") {
            try await store.deleteAcrobitsAppID(name, of: application.key)
        }
    }
}

/// An app id of the softphones. It may belong to two platforms, whose tokens differ: one of Apple's, and one of another provider's.
package struct AcrobitsAppID: Sendable, Hashable {
    package let name: String
    package let applicationKey: Key<Application>
    package let platformKey: Key<Platform>
    /// The payloads by verb, in place of the usual ones.
    package let payload: AcrobitsPayloadTemplate?

    package static let nameBytesMax = 255
    /// The most of one application.
    package static let countMax = 256

    package init(
        name: String, applicationKey: Key<Application>, platformKey: Key<Platform>,
        payload: AcrobitsPayloadTemplate? = nil
    ) {
        self.name = name
        self.applicationKey = applicationKey
        self.platformKey = platformKey
        self.payload = payload
    }

    package static func check(name: String) throws(InvalidInput) {
        guard 1...nameBytesMax ~= name.utf8.count, name.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw InvalidInput(field: "app_id", "has to be 1 to \(nameBytesMax) visible ASCII characters")
        }
    }
}
