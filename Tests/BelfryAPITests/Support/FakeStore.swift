import BelfryCore
import BelfryTesting
import FoundationEssentials

/// As much of a store as the API needs, in memory; it keeps what was asked of it.
actor FakeStore: ApplicationStore, DeviceStore, PushStore {
    private(set) var applicationList: [Application] = []
    private(set) var platformList: [Platform] = []
    private(set) var devices: [Device] = []
    private(set) var pushes: [NewPush] = []
    /// Keeps the schedules.
    let memory = MemoryStore(clock: StoppedClock())
    /// Thrown by every call until it is taken back.
    private var trouble: (any Error)?

    func fail(with error: (any Error)?) { trouble = error }

    private func check() throws { if let trouble { throw trouble } }

    // MARK: Applications and platforms

    func create(_ new: NewApplication) throws -> Application {
        let application = Application(
            key: Key(Int64(applicationList.count + 1)), uuid: new.uuid, name: new.name, apiKeyHash: new.apiKeyHash,
            sharedSecret: new.sharedSecret, createdAt: .zero)
        applicationList.append(application)
        return application
    }

    func applications() -> [Application] { applicationList }
    func application(_ uuid: UUID) -> Application? { applicationList.first { $0.uuid == uuid } }
    func delete(_ key: Key<Application>, force: Bool) { applicationList.removeAll { $0.key == key } }

    func replaceSharedSecret(of key: Key<Application>, with sealed: Sealed) {
        applicationList = applicationList.map { old in
            old.key != key
                ? old
                : Application(
                    key: old.key, uuid: old.uuid, name: old.name, apiKeyHash: old.apiKeyHash, sharedSecret: sealed,
                    createdAt: old.createdAt)
        }
    }

    func create(_ new: NewPlatform) throws -> Platform {
        let platform = Platform(
            key: Key(Int64(platformList.count + 1)), uuid: new.uuid, applicationKey: new.applicationKey, kind: new.kind,
            mode: new.mode, name: new.name, secretHash: new.secretHash, credentials: new.credentials,
            credentialsVersion: 1, parked: nil, createdAt: .zero)
        platformList.append(platform)
        return platform
    }

    func forget(_ key: Key<Platform>) { platformList.removeAll { $0.key == key } }
    func platforms(of key: Key<Application>) -> [Platform] { platformList.filter { $0.applicationKey == key } }
    func platform(_ uuid: UUID) -> Platform? { platformList.first { $0.uuid == uuid } }
    func platform(_ key: Key<Platform>) -> Platform? { platformList.first { $0.key == key } }
    func replaceCredentials(of platform: Key<Platform>, with credentials: Sealed) {}
    func park(_ platform: Key<Platform>, _ parking: Parking) {}
    func resume(_ platform: Key<Platform>) {}

    // MARK: Devices

    func register(_ new: Registration, as uuid: UUID?, on platform: Platform) throws -> Device {
        try check()
        let named = uuid.flatMap { self.device($0, on: platform.key) }
        let holder = devices.first { $0.platformKey == platform.key && $0.token == new.token }
        let old: Device?
        switch Enrolment(named: named?.key, holder: holder?.key) {
        case .create: old = nil
        case .update(let key, let evicted):
            old = devices.first { $0.key == key }
            if let evicted { change(evicted) { $0.copy(token: .some(nil), isActive: false) } }
        }
        let userID: String? =
            switch new.customUserID {
            case .keep: old?.customUserID
            case .clear: nil
            case .set(let id): id
            }
        let device = Device(
            key: old?.key ?? Key(Int64(devices.count + 1)), uuid: old?.uuid ?? UUID(), platformKey: platform.key,
            token: new.token, isActive: true, about: new.about.filled(from: old?.about ?? Device.About()),
            customUserID: userID, topics: new.topics.applied(to: Set(old?.topics ?? [])).sorted(), registeredAt: .zero)
        if old == nil { devices.append(device) } else { change(device.key) { _ in device } }
        return device
    }

    func unregister(_ uuid: UUID, on platform: Key<Platform>) throws {
        try check()
        guard let device = self.device(uuid, on: platform) else { return }
        change(device.key) { $0.copy(isActive: false) }
    }

    private func change(_ key: Key<Device>, _ change: (Device) -> Device) {
        devices = devices.map { $0.key == key ? change($0) : $0 }
    }

    func device(_ uuid: UUID, on platform: Key<Platform>) -> Device? {
        devices.first { $0.uuid == uuid && $0.platformKey == platform }
    }

    func deviceKeys(_ uuids: [UUID], on platforms: [Key<Platform>]) -> [Key<Device>] {
        uuids.compactMap { uuid in
            devices.first { $0.uuid == uuid && platforms.contains($0.platformKey) }?.key
        }
    }

    func deviceCount(on platform: Key<Platform>) -> Int { devices.filter { $0.platformKey == platform }.count }

    // MARK: Pushes

    func accept(_ new: NewPush) throws -> Push {
        try check()
        pushes.append(new)
        return Push(
            key: Key(Int64(pushes.count)), receiptID: new.receiptID, applicationKey: new.applicationKey,
            content: new.content, audience: new.audience, lane: new.lane, guarantee: new.guarantee,
            acceptedAt: .zero, expiresAt: new.expiresAt)
    }

    func receipt(_ receiptID: UUID) -> Receipt? { nil }
    func answer(of device: Key<Device>, in push: Key<Push>) -> Answer? { nil }

    /// Whom a push would reach, by walking its audience on each of its platforms.
    func reached(by push: NewPush) throws -> Set<UUID> {
        var reached: Set<UUID> = []
        for platform in push.platformKeys.compactMap({ platform($0) }) {
            let reader = Reader(kind: platform.kind, devices: devices.filter { $0.platformKey == platform.key })
            let keys = try AudienceWalk(push.audience, reader: reader).devices(after: nil, limit: 1_000)
            reached.formUnion(devices.filter { keys.contains($0.key) }.map(\.uuid))
        }
        return reached
    }

    private struct Reader: PostingReader {
        let kind: PlatformKind
        let devices: [Device]

        func postings(_ list: PostingList, after: Int64, limit: Int) -> [Int64] {
            Array(devices.filter { isIn(list, $0) }.map(\.key.rawValue).filter { $0 > after }.sorted().prefix(limit))
        }

        private func isIn(_ list: PostingList, _ device: Device) -> Bool {
            switch list {
            case .registered: true
            case .active: device.isActive
            case .interactive:
                device.isActive && Reach(kind: kind, osVersion: device.about.osVersion) == .interactive
            case .topic(let name): device.isActive && device.topics.contains(name)
            case .customUser(let id): device.isActive && device.customUserID == id
            case .devices(let keys): keys.contains(device.key)
            }
        }
    }
}

extension Device {
    fileprivate func copy(token: DeviceToken?? = nil, isActive: Bool) -> Device {
        Device(
            key: key, uuid: uuid, platformKey: platformKey, token: token ?? self.token, isActive: isActive,
            about: about,
            customUserID: customUserID, topics: topics, registeredAt: registeredAt)
    }
}

/// Writes secrets down as they are, and counts how often one is read.
final class OpenVault: Vault {
    func seal(_ secret: [UInt8], for purpose: String) -> Sealed { Sealed(bytes: Array("\(purpose):".utf8) + secret) }

    func open(_ sealed: Sealed, for purpose: String) throws -> [UInt8] {
        let mark = Array("\(purpose):".utf8)
        guard sealed.bytes.starts(with: mark) else { throw VaultError.broken }
        return Array(sealed.bytes.dropFirst(mark.count))
    }
}

/// Stands still at noon of a summer day.
struct StoppedClock: WallClock {
    let now = Instant(milliseconds: 1_500_000_000_000)
    func sleep(for duration: Duration) async throws {}
}
