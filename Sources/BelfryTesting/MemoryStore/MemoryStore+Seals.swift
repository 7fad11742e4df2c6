package import BelfryService

extension MemoryStore {
    package func sealedSecrets(
        _ kind: SealedSecret.Kind, after: [UInt8]?, limit: Int
    ) async throws -> [SealedSecret] {
        let behind = transaction { $0.sealed(kind) }.filter { secret in
            after.map { $0.lexicographicallyPrecedes(secret.name) } ?? true
        }
        return Array(behind.sorted { $0.name.lexicographicallyPrecedes($1.name) }.prefix(limit))
    }

    package func reseal(_ secret: SealedSecret, as seal: Sealed) async throws -> Bool {
        transaction { contents in
            guard contents.sealed(secret.kind).contains(secret) else { return false }
            contents.replace(secret, by: seal)
            return true
        }
    }
}

extension Contents {
    fileprivate func sealed(_ kind: SealedSecret.Kind) -> [SealedSecret] {
        switch kind {
        case .sharedSecret:
            applications.values.map { SealedSecret(kind: kind, name: $0.uuid.bytes, seal: $0.sharedSecret) }
        case .previousSharedSecret:
            applications.values.compactMap { application in
                application.previousSharedSecret.map {
                    SealedSecret(kind: kind, name: application.uuid.bytes, seal: $0.value)
                }
            }
        case .credentials:
            platforms.values.map { SealedSecret(kind: kind, name: $0.uuid.bytes, seal: $0.credentials) }
        case .twoFactor:
            people.twoFactors.map { SealedSecret(kind: kind, name: $0.bytes, seal: $1.secret) }
        case .answer:
            idempotency.compactMap { name, record in
                guard case .answered(let answer) = record.state else { return nil }
                return SealedSecret(kind: kind, name: name, seal: answer.content)
            }
        }
    }

    fileprivate mutating func replace(_ secret: SealedSecret, by seal: Sealed) {
        switch secret.kind {
        case .sharedSecret:
            for (key, old) in applications where old.uuid.bytes == secret.name {
                applications[key] = old.with(sharedSecret: seal)
            }
        case .previousSharedSecret:
            for (key, old) in applications where old.uuid.bytes == secret.name {
                let previous = old.previousSharedSecret.map { PreviousSecret(seal, validUntil: $0.validUntil) }
                applications[key] = old.with(previousSharedSecret: .some(previous))
            }
        case .credentials:
            for (key, old) in platforms where old.uuid.bytes == secret.name {
                platforms[key] = old.with(credentials: seal)
            }
        case .twoFactor:
            if let person = secret.person { people.twoFactors[person]?.secret = seal }
        case .answer:
            guard case .answered(let answer) = idempotency[secret.name]?.state else { return }
            idempotency[secret.name]?.state = .answered(StoredResponse(status: answer.status, content: seal))
        }
    }
}
