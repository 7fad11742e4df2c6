package import BelfryService

extension MemoryStore {
    package func create(_ new: NewOpenEndpoint) async throws -> OpenEndpoint {
        let now = clock.now
        return try transaction { contents in
            guard let tenant = contents.applications[new.application]?.tenantKey else {
                throw StoreError.unknown("application")
            }
            let all = contents.openEndpoints.values.map(\.endpoint)
            func isOfTenant(_ endpoint: OpenEndpoint) -> Bool {
                contents.applications[endpoint.application]?.tenantKey == tenant
            }
            try OpenEndpoint.check(
                new, count: (all.count { $0.application == new.application }, all.count(where: isOfTenant)),
                plain: all.filter { $0.isPlain && $0.kind == new.kind && !isOfTenant($0) })
            let endpoint = OpenEndpoint(
                key: contents.nextKey(), kind: new.kind, application: new.application, allowed: new.allowed,
                options: new.options, isPlain: new.isPlain, createdAt: now)
            contents.openEndpoints[endpoint.key] = (endpoint, new.keyHash)
            return endpoint
        }
    }

    package func openEndpoint(_ kind: OpenEndpoint.Kind, keyHash: [UInt8]) async throws -> OpenEndpoint? {
        contents.openEndpoints.values.first { $0.keyHash == keyHash && $0.endpoint.kind == kind }?.endpoint
    }

    package func plainOpenEndpoints(_ kind: OpenEndpoint.Kind) async throws -> [OpenEndpoint] {
        contents.openEndpoints.values.map(\.endpoint).filter { $0.kind == kind && $0.isPlain }.sorted {
            $0.key < $1.key
        }
    }

    package func openEndpoints(of application: Key<Application>) async throws -> [OpenEndpoint] {
        contents.openEndpoints.values.map(\.endpoint).filter { $0.application == application }
            .sorted { $0.key < $1.key }
    }

    package func delete(_ endpoint: Key<OpenEndpoint>, of application: Key<Application>) async throws -> Bool {
        transaction { contents in
            guard contents.openEndpoints[endpoint]?.endpoint.application == application else { return false }
            contents.openEndpoints[endpoint] = nil
            return true
        }
    }
}

extension MemoryStore {
    package func createGatewayCredential(
        _ fingerprint: [UInt8], expiresAt: Instant?, on platform: Key<Platform>
    ) async throws -> GatewayCredential {
        let now = clock.now
        return try transaction { contents in
            guard contents.platforms[platform] != nil else { throw StoreError.unknown("platform") }
            let all = contents.gatewayCredentials.values
            guard !all.contains(where: { $0.fingerprint == fingerprint }) else {
                throw StoreError.conflict("the certificate opens a platform already")
            }
            let count = all.count { $0.platform == platform }
            guard count < GatewayCredential.countMax else {
                throw StoreError.conflict(
                    "the platform has \(count) gateway credentials, the limit is \(GatewayCredential.countMax)")
            }
            let credential = GatewayCredential(
                key: contents.nextKey(), platform: platform, fingerprint: fingerprint, expiresAt: expiresAt,
                createdAt: now)
            contents.gatewayCredentials[credential.key] = credential
            return credential
        }
    }

    package func gatewayCredential(_ fingerprint: [UInt8]) async throws -> GatewayCredential? {
        contents.gatewayCredentials.values.first { $0.fingerprint == fingerprint }
    }

    package func gatewayCredentials(of platform: Key<Platform>) async throws -> [GatewayCredential] {
        contents.gatewayCredentials.values.filter { $0.platform == platform }.sorted { $0.key < $1.key }
    }

    package func delete(_ credential: Key<GatewayCredential>, of platform: Key<Platform>) async throws -> Bool {
        transaction { contents in
            guard contents.gatewayCredentials[credential]?.platform == platform else { return false }
            contents.gatewayCredentials[credential] = nil
            return true
        }
    }
}

extension MemoryStore {
    package func feedback(of platform: Key<Platform>, after: Feedback?, limit: Int) async throws -> [Feedback] {
        transaction { contents in
            let found = contents.feedback.filter { $0.platform == platform && $0.key > after?.key ?? Key(0) }
            return found.compactMap { row -> Feedback? in
                guard let device = contents.devices[row.device], !device.isActive, let token = device.token else {
                    return nil
                }
                return Feedback(key: row.key, since: row.since, token: token)
            }.prefix(limit).map(\.self)
        }
    }

    package func deleteFeedback(of platform: Key<Platform>, upTo last: Feedback) async throws {
        transaction { contents in
            contents.feedback.removeAll { $0.platform == platform && $0.key <= last.key }
        }
    }

    package func generoTokens(
        of application: Key<Application>, after id: Int64, limit: Int
    ) async throws -> [GeneroToken] {
        transaction { contents in contents.generoTokens(of: application, after: id, limit: limit) }
    }
}

extension Contents {
    /// Called for a device that a verdict may have deactivated.
    mutating func noteFeedback(of device: Key<Device>, at now: Instant) {
        guard let dead = devices[device], !dead.isActive,
            gatewayCredentials.values.contains(where: { $0.platform == dead.platformKey })
        else { return }
        if let place = feedback.firstIndex(where: { $0.device == device }) {
            let key = feedback[place].key
            feedback[place] = FeedbackRow(key: key, platform: dead.platformKey, device: device, since: now)
        } else {
            feedback.append(FeedbackRow(key: nextKey(), platform: dead.platformKey, device: device, since: now))
        }
    }

    fileprivate func generoTokens(of application: Key<Application>, after id: Int64, limit: Int) -> [GeneroToken] {
        let endpoints = openEndpoints.values.map(\.endpoint)
        guard endpoints.contains(where: { $0.kind == .genero && $0.application == application }) else { return [] }
        let kinds: [PlatformKind] = [.ios, .android, .androidFCM]
        let rows = devices.values.compactMap { device -> GeneroToken? in
            guard let platform = platforms[device.platformKey], platform.applicationKey == application,
                kinds.contains(platform.kind), device.isActive, device.key.rawValue > id, let token = device.token
            else { return nil }
            let detail = deviceDetails[device.key]
            return GeneroToken(
                id: device.key.rawValue, type: platform.kind == .ios ? "APNS" : "FCM",
                token: detail?.spelling ?? token.text(for: platform.kind), badge: detail?.badge ?? 0,
                user: device.customUserID ?? "", registeredAt: device.registeredAt.inGenero)
        }
        return Array(rows.sorted { $0.id < $1.id }.prefix(limit))
    }
}

extension Instant {
    /// `2026-01-31 08:30:00.000`.
    fileprivate var inGenero: String {
        let fraction = String(milliseconds % 1_000 + 1_000).dropFirst()
        return text.prefix(19).map { $0 == "T" ? " " : String($0) }.joined() + "." + fraction
    }
}

extension MemoryStore {
    package func holders(
        of tokens: [DeviceToken], on platform: Key<Platform>
    ) async throws -> [DeviceToken: TokenHolder] {
        transaction { contents in
            var holders: [DeviceToken: TokenHolder] = [:]
            for token in tokens {
                let address = Contents.Address(platform: platform, token: token)
                guard let device = contents.holders[address].flatMap({ contents.devices[$0] }) else { continue }
                holders[token] = TokenHolder(device: device.key, uuid: device.uuid, isActive: device.isActive)
            }
            return holders
        }
    }

    package func detail(of device: Key<Device>, on platform: Key<Platform>) async throws -> DeviceDetail? {
        contents.deviceDetails[device]
    }

    package func setDetail(
        of device: Key<Device>, on platform: Key<Platform>, _ change: DeviceDetail.Change
    ) async throws {
        transaction { contents in
            contents.deviceDetails[device] = (contents.deviceDetails[device] ?? DeviceDetail()).changed(by: change)
        }
    }
}
