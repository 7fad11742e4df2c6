package import BelfryService
package import FoundationEssentials

/// A store that forwards every call, for doubles that change one thing.
package protocol WrappedStore: Store {
    var base: any Store { get }
}

extension WrappedStore {
    package func create(_ new: NewApplication) async throws -> Application { try await base.create(new) }
    package func applications() async throws -> [Application] { try await base.applications() }
    package func application(_ uuid: UUID) async throws -> Application? { try await base.application(uuid) }
    package func application(_ key: Key<Application>) async throws -> Application? { try await base.application(key) }
    package func delete(_ application: Key<Application>, force: Bool) async throws {
        try await base.delete(application, force: force)
    }
    package func create(_ new: NewPlatform) async throws -> Platform { try await base.create(new) }
    package func platforms(of application: Key<Application>) async throws -> [Platform] {
        try await base.platforms(of: application)
    }
    package func platform(_ uuid: UUID) async throws -> Platform? { try await base.platform(uuid) }
    package func platform(_ key: Key<Platform>) async throws -> Platform? { try await base.platform(key) }
    package func replaceCredentials(
        of platform: Key<Platform>, with credentials: Sealed, facts: CredentialFacts?
    ) async throws {
        try await base.replaceCredentials(of: platform, with: credentials, facts: facts)
    }

    package func note(_ facts: CredentialFacts, of platform: Key<Platform>, version: Int64) async throws {
        try await base.note(facts, of: platform, version: version)
    }
    package func isNew(_ uuid: UUID) async throws -> Bool { try await base.isNew(uuid) }
    package func park(_ platform: Key<Platform>, _ parking: Parking) async throws {
        try await base.park(platform, parking)
    }
    package func resume(_ platform: Key<Platform>) async throws { try await base.resume(platform) }

    package func setWebAccess(of platform: Key<Platform>, to access: WebAccess?) async throws {
        try await base.setWebAccess(of: platform, to: access)
    }

    package func register(_ registration: Registration, as uuid: UUID?, on platform: Platform) async throws -> Device {
        try await base.register(registration, as: uuid, on: platform)
    }
    package func delete(_ device: Device, on platform: Platform) async throws {
        try await base.delete(device, on: platform)
    }

    package func unregister(_ uuid: UUID, on platform: Key<Platform>) async throws {
        try await base.unregister(uuid, on: platform)
    }
    package func device(_ uuid: UUID, on platform: Key<Platform>) async throws -> Device? {
        try await base.device(uuid, on: platform)
    }
    package func deviceKeys(_ uuids: [UUID], on platforms: [Key<Platform>]) async throws -> [Key<Device>] {
        try await base.deviceKeys(uuids, on: platforms)
    }
    package func devices(named names: NamedTargets, on platforms: [Key<Platform>]) async throws -> DevicesByPlatform {
        try await base.devices(named: names, on: platforms)
    }
    package func importDevices(_ devices: [DeviceImport], on platform: Platform) async throws -> [ImportVerdict] {
        try await base.importDevices(devices, on: platform)
    }
    package func importSurvey(of devices: [DeviceImport], on platform: Platform) async throws -> ImportSurvey {
        try await base.importSurvey(of: devices, on: platform)
    }
    package func createImport(
        _ uuid: UUID, of application: Key<Application>, from source: ImportJob.Source, position: Int, by keyID: String?
    ) async throws -> ImportJob {
        try await base.createImport(uuid, of: application, from: source, position: position, by: keyID)
    }
    package func importJob(_ uuid: UUID, of application: Key<Application>) async throws -> ImportJob? {
        try await base.importJob(uuid, of: application)
    }
    package func importJobs(
        of application: Key<Application>, after: Key<ImportJob>?, limit: Int
    ) async throws -> [ImportJob] {
        try await base.importJobs(of: application, after: after, limit: limit)
    }
    package func resumeImport(_ job: Key<ImportJob>, by keyID: String?) async throws -> ImportJob? {
        try await base.resumeImport(job, by: keyID)
    }
    package func note(
        _ step: ImportStep, of job: ImportJob, atMost verdictBytesMax: Int
    ) async throws -> ImportJob? { try await base.note(step, of: job, atMost: verdictBytesMax) }
    package func end(_ job: ImportJob, as state: ImportJob.State, reason: String) async throws -> ImportJob? {
        try await base.end(job, as: state, reason: reason)
    }
    package func importVerdicts(
        of job: Key<ImportJob>, after position: Int, limit: Int
    ) async throws -> [ImportVerdictLines] {
        try await base.importVerdicts(of: job, after: position, limit: limit)
    }
    package func importScratch() async throws -> any ImportScratch { try await base.importScratch() }
    package func unknownDevices(among uuids: [UUID], on platforms: [Key<Platform>]) async throws -> [UUID] {
        try await base.unknownDevices(among: uuids, on: platforms)
    }
    package func unseenDevices(
        on platforms: [Key<Platform>], after: Key<Device>?, limit: Int
    ) async throws -> [Device] {
        try await base.unseenDevices(on: platforms, after: after, limit: limit)
    }
    package func inactiveDeviceCount(on platform: Key<Platform>) async throws -> Int? {
        try await base.inactiveDeviceCount(on: platform)
    }
    package func unseenDeviceCount(on platforms: [Key<Platform>]) async throws -> Int {
        try await base.unseenDeviceCount(on: platforms)
    }
    package func deviceCount(on platform: Key<Platform>) async throws -> Int {
        try await base.deviceCount(on: platform)
    }

    package func mirror(
        _ call: MirrorCall, of device: Key<Device>, on platform: Key<Platform>, atMost backlogMax: Int
    ) async throws -> Bool {
        try await base.mirror(call, of: device, on: platform, atMost: backlogMax)
    }
    package func mirrorEntries(limit: Int) async throws -> [MirrorEntry] { try await base.mirrorEntries(limit: limit) }
    package func settle(_ entries: [Key<MirrorEntry>]) async throws { try await base.settle(entries) }
    package func mirrorBacklog() async throws -> Int { try await base.mirrorBacklog() }
    package func holdMirror(as node: UUID, for lease: Duration) async throws -> Bool {
        try await base.holdMirror(as: node, for: lease)
    }
    package func importedUUID(of device: Key<Device>, on platform: Key<Platform>) async throws -> UUID? {
        try await base.importedUUID(of: device, on: platform)
    }
    package func noteImportedUUID(_ uuid: UUID, of device: Key<Device>, on platform: Platform) async throws {
        try await base.noteImportedUUID(uuid, of: device, on: platform)
    }

    package func accept(_ push: NewPush) async throws -> Push { try await base.accept(push) }
    package func receipt(_ receiptID: UUID) async throws -> Receipt? { try await base.receipt(receiptID) }
    package func cancel(_ push: Key<Push>) async throws -> Cancellation { try await base.cancel(push) }
    package func messages(
        to device: Key<Device>, on platform: Key<Platform>, of application: Key<Application>, limit: Int
    ) async throws -> [DeviceMessage] {
        try await base.messages(to: device, on: platform, of: application, limit: limit)
    }
    package func delivery(of device: Key<Device>, in push: Key<Push>) async throws -> DeviceDelivery? {
        try await base.delivery(of: device, in: push)
    }
    package func leasesEnd(of push: Key<Push>) async throws -> Instant? { try await base.leasesEnd(of: push) }
    package func providerWords(of push: Key<Push>) async throws -> [String] { try await base.providerWords(of: push) }

    package func claimFanOuts(atMost limit: Int, lanes: [Lane], for lease: Duration) async throws -> [FanOut] {
        try await base.claimFanOuts(atMost: limit, lanes: lanes, for: lease)
    }
    package func devices(in fanOut: FanOut, after: Key<Device>?, limit: Int) async throws -> [Key<Device>] {
        try await base.devices(in: fanOut, after: after, limit: limit)
    }
    package func advance(_ step: FanOutStep) async throws -> Bool { try await base.advance(step) }
    package func claimBatches(_ claim: BatchClaim) async throws -> [Batch] { try await base.claimBatches(claim) }
    package func load(_ batches: [Batch]) async throws -> [BatchLoad?] { try await base.load(batches) }
    package func fill(_ requests: [FillingRequest]) async throws -> [[Key<Device>: PersonalizedValues.Values]?] {
        try await base.fill(requests)
    }
    package func settle(_ settlements: [Settlement]) async throws -> [Bool] { try await base.settle(settlements) }
    package func takeProbe(of service: String, on platform: Key<Platform>, until end: Instant) async throws -> Bool {
        try await base.takeProbe(of: service, on: platform, until: end)
    }
    package func note(_ finding: ProbeFinding, of service: String?, on platform: Platform) async throws {
        try await base.note(finding, of: service, on: platform)
    }
    package func nextDue() async throws -> Instant? { try await base.nextDue() }
    package func hints(of work: DueWork) -> AsyncStream<Void> { base.hints(of: work) }

    package func schedule(
        _ pushRequest: PushRequest, at dueAt: Instant, for application: Key<Application>
    ) async throws -> Schedule {
        try await base.schedule(pushRequest, at: dueAt, for: application)
    }
    package func schedule(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Schedule? {
        try await base.schedule(key, of: application)
    }
    package func schedules(of application: Key<Application>, after: Schedule?, limit: Int) async throws -> [Schedule] {
        try await base.schedules(of: application, after: after, limit: limit)
    }
    package func endedSchedules(
        of application: Key<Application>, after: Schedule?, limit: Int
    ) async throws -> [Schedule] {
        try await base.endedSchedules(of: application, after: after, limit: limit)
    }
    package func change(
        _ key: Key<Schedule>, of application: Key<Application>, _ change: Schedule.Change
    ) async throws -> Schedule? {
        try await base.change(key, of: application, change)
    }
    package func cancel(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Bool {
        try await base.cancel(key, of: application)
    }
    package func dueSchedules(atMost limit: Int) async throws -> [Schedule] {
        try await base.dueSchedules(atMost: limit)
    }
    package func nextScheduleDue() async throws -> Instant? { try await base.nextScheduleDue() }
    package func release(_ schedule: Schedule, as push: NewPush) async throws -> Push? {
        try await base.release(schedule, as: push)
    }
    package func end(_ schedule: Schedule, _ how: Schedule.How) async throws -> Bool {
        try await base.end(schedule, how)
    }

    package func reserve(_ reservation: Reservation) async throws -> IdempotencyVerdict {
        try await base.reserve(reservation)
    }
    package func answer(to name: [UInt8]) async throws -> StoredResponse? { try await base.answer(to: name) }
    package func complete(_ name: [UInt8], idempotentID: UUID, with answer: StoredResponse) async throws {
        try await base.complete(name, idempotentID: idempotentID, with: answer)
    }
    package func release(_ name: [UInt8], idempotentID: UUID, hadNoEffect: Bool) async throws {
        try await base.release(name, idempotentID: idempotentID, hadNoEffect: hadNoEffect)
    }
    package func deleteOldest(of caller: Principal, beyond count: Int) async throws {
        try await base.deleteOldest(of: caller, beyond: count)
    }

    package func deleteExpired(_ kind: Retention.Kind, before: Instant) async throws -> DeletedRows {
        try await base.deleteExpired(kind, before: before)
    }
    package func quotas(of application: Key<Application>) async throws -> [QuotaUse] {
        try await base.quotas(of: application)
    }
    package func add(_ counts: [CommandCount]) async throws { try await base.add(counts) }
    package func takeCommandCounts() async throws -> [CommandCount] { try await base.takeCommandCounts() }

    package func keepDraft(_ text: String, at place: ComposeDraft.Place) async throws {
        try await base.keepDraft(text, at: place)
    }
    package func drafts(
        of person: Key<Person>, in application: Key<Application>
    ) async throws -> [ComposeDraft.Entry] { try await base.drafts(of: person, in: application) }
    package func draft(at place: ComposeDraft.Place) async throws -> ComposeDraft? { try await base.draft(at: place) }
    package func deleteDraft(at place: ComposeDraft.Place) async throws -> Bool {
        try await base.deleteDraft(at: place)
    }
    package func recordHeartbeat(_ report: NodeReport) async throws { try await base.recordHeartbeat(report) }
    package func remove(_ node: UUID) async throws { try await base.remove(node) }
    package func nodes() async throws -> [Node] { try await base.nodes() }
    package func databaseSize() async throws -> DatabaseSize { try await base.databaseSize() }

    package func note(_ fault: ConnectionFault, on platform: Key<Platform>) async throws {
        try await base.note(fault, on: platform)
    }
    package func connectionFaults(of push: Key<Push>) async throws -> [PlatformFault] {
        try await base.connectionFaults(of: push)
    }

    package func damagedBatchCount() async throws -> Int { try await base.damagedBatchCount() }
    package func damagedFanOutCount() async throws -> Int { try await base.damagedFanOutCount() }
    package func damagedPushes(limit: Int) async throws -> [PushHead] { try await base.damagedPushes(limit: limit) }
    package func writeOffDamage(of push: Key<Push>) async throws -> WriteOff {
        try await base.writeOffDamage(of: push)
    }
}
