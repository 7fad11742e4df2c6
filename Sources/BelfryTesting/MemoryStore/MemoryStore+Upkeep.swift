package import BelfryService

extension MemoryStore {
    package func edit(_ application: Key<Application>, _ edit: ApplicationEdit) async throws {
        try change(application) {
            $0.with(
                name: edit.name?.text, description: edit.description?.text,
                ignoresUnknownFields: edit.ignoresUnknownFields)
        }
    }

    package func replaceAPIKey(
        of application: Key<Application>, with hash: [UInt8], graceEnd: Instant?
    ) async throws {
        try change(application) { old in
            let previous = graceEnd.map { PreviousSecret(old.apiKeyHash, validUntil: $0) }
            return old.with(apiKeyHash: hash, previousAPIKey: .some(previous))
        }
    }

    package func replaceSharedSecret(
        of application: Key<Application>, with secret: Sealed, graceEnd: Instant?
    ) async throws {
        try change(application) { old in
            let previous = graceEnd.map { PreviousSecret(old.sharedSecret, validUntil: $0) }
            return old.with(sharedSecret: secret, previousSharedSecret: .some(previous))
        }
    }

    package func edit(_ platform: Key<Platform>, _ edit: PlatformEdit) async throws {
        try transaction { contents in
            guard let old = contents.platforms[platform] else { throw StoreError.unknown("platform") }
            contents.platforms[platform] = old.with(edit)
            if contents.platforms[platform]?.mode != old.mode, old.parked?.cause == .credentials {
                try contents.resume(platform)
            }
        }
        signals.fire(.all)
    }

    package func setWebAccess(of platform: Key<Platform>, to access: WebAccess?) async throws {
        try transaction { contents in
            guard let old = contents.platforms[platform] else { throw StoreError.unknown("platform") }
            contents.platforms[platform] = old.with(webAccess: access)
        }
    }

    package func delete(_ platform: Key<Platform>, force: Bool) async throws {
        let now = clock.now
        try transaction { contents in
            guard contents.platforms[platform] != nil else { throw StoreError.unknown("platform") }
            let isInUse = contents.devices.values.contains { $0.platformKey == platform && $0.isActive }
            guard force || !isInUse else {
                throw StoreError.hasActiveDevices
            }
            contents.remove(platform, now: now)
        }
        signals.fire(.all)
    }

    private func change(_ application: Key<Application>, _ change: (Application) -> Application) throws {
        try transaction { contents in
            guard let old = contents.applications[application] else { throw StoreError.unknown("application") }
            contents.applications[application] = change(old)
        }
    }
}

extension Contents {
    /// Devices that still wait on the platform are answered `skipped: missing`.
    fileprivate mutating func remove(_ platform: Key<Platform>, now: Instant) {
        platforms[platform] = nil
        removeAcrobits(on: platform)
        removeCarma(on: platform)
        devices = devices.filter { $0.value.platformKey != platform }
        holders = holders.filter { $0.key.platform != platform }
        let endedFanOuts = fanOuts.keys.filter { $0.platform == platform }
        for key in endedFanOuts { fanOuts[key] = nil }
        let waiting = batches.values.map(\.batch).filter { $0.platformKey == platform && $0.answers.contains(.pending) }
        for batch in waiting.sorted(by: { $0.key < $1.key }) { answerMissing(batch, now: now) }
        for push in Set(endedFanOuts.map(\.push)) { settleIfDone(push, now: now) }
    }

    private mutating func answerMissing(_ batch: Batch, now: Instant) {
        let missing = batch.with(
            answers: batch.answers.map { $0 == .pending ? .skipped(.missing) : $0 }, attempt: batch.attempt + 1,
            isLapsed: batch.isLapsed)
        batches[batch.key] = BatchRow(batch: missing, lease: Lease(dueAt: nil))
        let waiting = batch.answers.count { $0 == .pending }
        pushes[batch.pushKey]?.counts.add(-waiting, to: .pending)
        pushes[batch.pushKey]?.counts.add(waiting, to: .skipped(.missing))
        if pushes[batch.pushKey]?.firstAnswerAt == nil { pushes[batch.pushKey]?.firstAnswerAt = now }
        settleIfDone(batch.pushKey, now: now)
    }
}

extension Application {
    func with(
        name: String? = nil, description: String? = nil, apiKeyHash: [UInt8]? = nil, sharedSecret: Sealed? = nil,
        previousAPIKey: PreviousSecret<[UInt8]>?? = nil, previousSharedSecret: PreviousSecret<Sealed>?? = nil,
        ignoresUnknownFields: Bool? = nil
    ) -> Application {
        Application(
            key: key, uuid: uuid, name: name ?? self.name, apiKeyHash: apiKeyHash ?? self.apiKeyHash,
            sharedSecret: sharedSecret ?? self.sharedSecret, createdAt: createdAt, tenantKey: tenantKey,
            bindingKeyHashes: bindingKeyHashes, description: description ?? self.description,
            previousAPIKey: previousAPIKey ?? self.previousAPIKey,
            previousSharedSecret: previousSharedSecret ?? self.previousSharedSecret,
            ignoresUnknownFields: ignoresUnknownFields ?? self.ignoresUnknownFields)
    }
}

extension Platform {
    func with(credentials: Sealed) -> Platform { with(credentials, version: credentialsVersion, parked: parked) }

    func with(hasImports: Bool) -> Platform {
        Platform(
            key: key, uuid: uuid, applicationKey: applicationKey, kind: kind, mode: mode, name: name,
            secretHash: secretHash, credentials: credentials, credentialsVersion: credentialsVersion, parked: parked,
            createdAt: createdAt, description: description, hasImports: hasImports, webAccess: webAccess,
            parkedServices: parkedServices, facts: facts)
    }

    fileprivate func with(webAccess: WebAccess?) -> Platform {
        Platform(
            key: key, uuid: uuid, applicationKey: applicationKey, kind: kind, mode: mode, name: name,
            secretHash: secretHash, credentials: credentials, credentialsVersion: credentialsVersion, parked: parked,
            createdAt: createdAt, description: description, hasImports: hasImports, webAccess: webAccess,
            parkedServices: parkedServices, facts: facts)
    }

    fileprivate func with(_ edit: PlatformEdit) -> Platform {
        let mode = edit.mode ?? mode
        return Platform(
            key: key, uuid: uuid, applicationKey: applicationKey, kind: kind, mode: mode,
            name: edit.name?.text ?? name, secretHash: secretHash, credentials: credentials,
            credentialsVersion: credentialsVersion + (mode == self.mode ? 0 : 1), parked: parked, createdAt: createdAt,
            description: edit.description?.text ?? description, hasImports: hasImports, webAccess: webAccess,
            parkedServices: parkedServices, facts: facts)
    }
}
