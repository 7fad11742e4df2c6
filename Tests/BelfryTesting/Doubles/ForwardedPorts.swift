package import BelfryService
package import FoundationEssentials

/// The ports of delivery, forwarded, for doubles that change one thing.
package protocol ForwardedPorts: DeliveryPorts {
    var base: any DeliveryPorts { get }
}

extension ForwardedPorts {
    package func create(_ application: NewApplication) async throws -> Application {
        try await base.create(application)
    }
    package func applications() async throws -> [Application] { try await base.applications() }
    package func application(_ key: Key<Application>) async throws -> Application? { try await base.application(key) }
    package func create(_ platform: NewPlatform) async throws -> Platform { try await base.create(platform) }
    package func platforms(of application: Key<Application>) async throws -> [Platform] {
        try await base.platforms(of: application)
    }
    package func platform(_ key: Key<Platform>) async throws -> Platform? { try await base.platform(key) }
    package func replaceCredentials(of platform: Key<Platform>, with credentials: Sealed, facts: CredentialFacts?)
        async throws
    {
        try await base.replaceCredentials(of: platform, with: credentials, facts: facts)
    }
    package func park(_ platform: Key<Platform>, _ parking: Parking) async throws {
        try await base.park(platform, parking)
    }
    package func resume(_ platform: Key<Platform>) async throws { try await base.resume(platform) }
    package func register(_ registration: Registration, as uuid: UUID?, on platform: Platform) async throws -> Device {
        try await base.register(registration, as: uuid, on: platform)
    }
    package func unregister(_ uuid: UUID, on platform: Key<Platform>) async throws {
        try await base.unregister(uuid, on: platform)
    }
    package func device(_ uuid: UUID, on platform: Key<Platform>) async throws -> Device? {
        try await base.device(uuid, on: platform)
    }
    package func devices(
        named names: NamedTargets, on platforms: [Key<Platform>]
    ) async throws -> (found: DevicesByPlatform, unknown: [UUID]) {
        try await base.devices(named: names, on: platforms)
    }
    package func pass(_ schedule: Schedule, to next: Instant) async throws -> Bool {
        try await base.pass(schedule, to: next)
    }
    package func start(_ occurrence: Schedule.Occurrence, of schedule: Schedule) async throws -> Bool {
        try await base.start(occurrence, of: schedule)
    }
    package func runs(of schedule: Key<Schedule>) async throws -> [ScheduleRun] { try await base.runs(of: schedule) }
    package func sentPush(
        of kind: String?, since: Instant, besides schedule: Schedule
    ) async throws -> (receiptID: UUID, at: Instant)? {
        try await base.sentPush(of: kind, since: since, besides: schedule)
    }

    package func timeZones(of application: Key<Application>) async throws -> [String] {
        try await base.timeZones(of: application)
    }
    package func campaignReceipts(_ name: String, of application: Key<Application>) async throws -> [UUID]? {
        try await base.campaignReceipts(name, of: application)
    }
    package func segmentExpression(
        _ name: String, of application: Key<Application>
    ) async throws -> AudienceExpression? {
        try await base.segmentExpression(name, of: application)
    }
    package func templateContent(
        _ reference: TemplateReference, of application: Key<Application>
    ) async throws -> Push.Content? {
        try await base.templateContent(reference, of: application)
    }
    package func accept(_ push: NewPush) async throws -> Push { try await base.accept(push) }
    package func receipt(_ receiptID: UUID) async throws -> Receipt? { try await base.receipt(receiptID) }
    package func cancel(_ push: Key<Push>) async throws -> Cancellation { try await base.cancel(push) }
    package func delivery(of device: Key<Device>, in push: Key<Push>) async throws -> DeviceDelivery? {
        try await base.delivery(of: device, in: push)
    }
    package func schedule(
        _ pushRequest: PushRequest, at dueAt: Instant, recurring recurrence: Recurrence?,
        for application: Key<Application>
    ) async throws -> Schedule {
        try await base.schedule(pushRequest, at: dueAt, recurring: recurrence, for: application)
    }
    package func schedule(_ key: Key<Schedule>, of application: Key<Application>) async throws -> Schedule? {
        try await base.schedule(key, of: application)
    }
    package func change(_ key: Key<Schedule>, of application: Key<Application>, _ change: Schedule.Change) async throws
        -> Schedule?
    {
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
    package func claimFanOuts(atMost limit: Int, lanes: [Lane], for lease: Duration) async throws -> [FanOut] {
        try await base.claimFanOuts(atMost: limit, lanes: lanes, for: lease)
    }
    package func devices(
        of audience: Audience, on platform: Key<Platform>, after: Key<Device>?, limit: Int
    ) async throws -> [Key<Device>] {
        try await base.devices(of: audience, on: platform, after: after, limit: limit)
    }
    package func advance(_ step: FanOutStep) async throws -> Bool { try await base.advance(step) }
    package func claimBursts(_ claim: BatchClaim) async throws -> [[Batch]] { try await base.claimBursts(claim) }
    package func awaitDisk() async throws { try await base.awaitDisk() }
    package func load(_ batches: [Batch]) async throws -> [BatchLoad?] { try await base.load(batches) }
    package func fill(_ requests: [FillingRequest]) async throws -> [[Key<Device>: PersonalizedValues.Values]?] {
        try await base.fill(requests)
    }
    package func pace(_ requests: [PacingRequest]) async throws -> [[Key<Device>: PacingVerdict]] {
        try await base.pace(requests)
    }
    package func settle(_ settlements: [Settlement]) async throws -> [Bool] { try await base.settle(settlements) }
    package func takeProbe(of service: String, on platform: Key<Platform>, until end: Instant) async throws -> Bool {
        try await base.takeProbe(of: service, on: platform, until: end)
    }
    package func note(_ finding: ProbeFinding, of service: String?, on platform: Platform) async throws {
        try await base.note(finding, of: service, on: platform)
    }
    package func note(_ fault: ConnectionFault, on platform: Key<Platform>) async throws {
        try await base.note(fault, on: platform)
    }
    package func nextDue() async throws -> Instant? { try await base.nextDue() }
    package func hints(of work: DueWork) -> AsyncStream<Void> { base.hints(of: work) }
}
