package import BelfryService

extension MemoryStore {
    package func create(_ new: NewAdminKey) async throws -> AdminKey {
        let now = clock.now
        return try transaction { contents in
            guard !contents.adminKeys.values.contains(where: { $0.id == new.id }) else {
                throw StoreError.unavailable("two admin keys would have one id")
            }
            try contents.checkMayIssue(new.scope, new.bounds, new.author)
            if let tenant = new.bounds.tenant {
                try RowLimit.adminKeys.check(
                    contents.adminKeys.values.count { $0.bounds.tenant == tenant && $0.revokedAt == nil })
            }
            let key = AdminKey(
                key: contents.nextKey(), id: new.id, name: new.name, scope: new.scope, bounds: new.bounds,
                secretHash: new.secretHash, previous: nil, createdAt: now, lastUsedAt: nil, revokedAt: nil,
                author: new.author)
            contents.adminKeys[key.key] = key
            return key
        }
    }

    package func adminKey(_ id: String) async throws -> AdminKey? { contents.adminKeys.values.first { $0.id == id } }

    package func adminKeys(
        within bounds: AdminKey.Bounds, after: Key<AdminKey>?, limit: Int
    ) async throws -> [AdminKey] {
        let found = contents.adminKeys.values.filter { key in
            key.bounds.isWithin(bounds) && (after.map { key.key > $0 } ?? true)
        }
        return Array(found.sorted { $0.key < $1.key }.prefix(limit))
    }

    package func rotate(_ key: Key<AdminKey>, to secretHash: [UInt8], graceEnd: Instant?) async throws {
        try transaction { contents in
            guard let old = contents.adminKeys[key], old.revokedAt == nil else {
                throw StoreError.unknown("admin key that is not revoked")
            }
            let previous = graceEnd.map { AdminKey.Previous(secretHash: old.secretHash, validUntil: $0) }
            contents.adminKeys[key] = old.with(secretHash, previous: previous, used: old.lastUsedAt, revoked: nil)
        }
    }

    package func revoke(_ key: Key<AdminKey>) async throws {
        let now = clock.now
        transaction { contents in
            guard let old = contents.adminKeys[key] else { return }
            contents.adminKeys[key] = old.with(
                old.secretHash, previous: old.previous, used: old.lastUsedAt, revoked: old.revokedAt ?? now)
        }
    }

    package func noteUse(of key: Key<AdminKey>, at now: Instant) async throws {
        transaction { contents in
            guard let old = contents.adminKeys[key] else { return }
            contents.adminKeys[key] = old.with(
                old.secretHash, previous: old.previous, used: max(old.lastUsedAt ?? now, now), revoked: old.revokedAt)
        }
    }
}

extension Contents {
    mutating func revokeKeys(at now: Instant, where isMeant: (AdminKey.Bounds) -> Bool) {
        for (key, old) in adminKeys where isMeant(old.bounds) && old.revokedAt == nil {
            adminKeys[key] = old.with(old.secretHash, previous: old.previous, used: old.lastUsedAt, revoked: now)
        }
    }
}

extension Contents {
    /// - Parameter role: whose keys stay; nil leaves none.
    mutating func revokeKeys(at now: Instant, of author: Key<Person>, beyond role: SignOn.Role? = nil) {
        for (key, old) in adminKeys where old.author == author && old.revokedAt == nil {
            if role?.covers(old.scope, old.bounds) == true { continue }
            adminKeys[key] = old.with(old.secretHash, previous: old.previous, used: old.lastUsedAt, revoked: now)
        }
    }
}

extension AdminKey.Bounds {
    func isWithin(_ other: AdminKey.Bounds) -> Bool {
        switch (other, self) {
        case (.everything, _): true
        case (.tenant(let asked), .tenant(let own)), (.tenant(let asked), .application(_, let own)): asked == own
        case (.application(let asked, _), .application(let own, _)): asked == own
        default: false
        }
    }
}

extension AdminKey {
    fileprivate func with(
        _ secretHash: [UInt8], previous: Previous?, used: Instant?, revoked: Instant?
    ) -> AdminKey {
        AdminKey(
            key: key, id: id, name: name, scope: scope, bounds: bounds, secretHash: secretHash, previous: previous,
            createdAt: createdAt, lastUsedAt: used, revokedAt: revoked, author: author)
    }
}
