package import BelfryCore

extension MemoryStore {
    package func create(_ new: NewOpenEndpoint) async throws -> OpenEndpoint {
        let now = clock.now
        return try transaction { contents in
            guard contents.applications[new.application] != nil else { throw StoreError.unknown("application") }
            let endpoint = OpenEndpoint(
                key: contents.nextKey(), kind: new.kind, application: new.application, allowed: new.allowed,
                options: new.options, createdAt: now)
            contents.openEndpoints[endpoint.key] = (endpoint, new.keyHash)
            return endpoint
        }
    }

    package func openEndpoint(_ kind: OpenEndpoint.Kind, keyHash: [UInt8]) async throws -> OpenEndpoint? {
        contents.openEndpoints.values.first { $0.keyHash == keyHash && $0.endpoint.kind == kind }?.endpoint
    }

    package func openEndpoints(_ kind: OpenEndpoint.Kind) async throws -> [OpenEndpoint] {
        contents.openEndpoints.values.map(\.endpoint).filter { $0.kind == kind }.sorted { $0.key < $1.key }
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
                throw StoreError.notEmpty("the certificate opens a platform already")
            }
            let count = all.count { $0.platform == platform }
            guard count < GatewayCredential.countMax else {
                throw StoreError.notEmpty(
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
        of device: Key<Device>, on platform: Key<Platform>, badge: Int64?, spelling: String?
    ) async throws {
        transaction { contents in
            let old = contents.deviceDetails[device] ?? DeviceDetail()
            contents.deviceDetails[device] = DeviceDetail(
                badge: badge ?? old.badge, spelling: spelling ?? old.spelling)
        }
    }
}
