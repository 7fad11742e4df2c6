import FoundationEssentials
import HTTPTypes
import Hummingbird

/// The application's data that pages of a push need, and the pages themselves.
struct ComposeContext: Sendable {
    let visit: DashboardRequest
    let application: Application
    let platforms: [Platform]
    /// The schedule that is edited; nil for a new push.
    let schedule: Schedule?
    let form: ComposeForm
    /// The number of the draft that keeps the form; see `ComposeDraft.Place`.
    var draftNumber: Int64

    init(_ visit: DashboardRequest, _ application: Application, _ schedule: Schedule?) async throws {
        let store = visit.services.store
        platforms = try await store.platforms(of: application.key)
        var places: [ComposePlace] = []
        if schedule == nil, visit.may(.change, Permission.Subject(application)) {
            let query = GeoListQuery(size: GeoListQuery.sizeMax)
            places = try await store.locationGroups(of: application.key, query).elements.map(ComposePlace.init)
            places += try await store.locations(of: application.key, query).elements.map(ComposePlace.init)
        }
        let action =
            schedule.map { Address.of(application, "schedules", $0.key.id, "edit") }
            ?? Address.of(application, "compose")
        let segments = try await store.segments(of: application.key).map(\.name)
        form = ComposeForm(
            Set(platforms.map(\.kind)), action: action, places: places, segments: segments, schedule: schedule)
        (self.visit, self.application, self.schedule) = (visit, application, schedule)
        draftNumber = visit.request.method == .post ? visit.form.draftNumber ?? 0 : .random(in: 1...Int64.max)
    }

    /// The form as it was posted when the session was over.
    var held: FormData? { HeldForm.current.flatMap { $0.action == form.action ? $0.data : nil } }

    var draftPlace: ComposeDraft.Place {
        ComposeDraft.Place(visit.person.key, application.key, schedule?.key, number: draftNumber)
    }

    /// Hidden fields of every form that concerns the draft.
    var draftFields: [Form.Hidden] {
        schedule == nil ? [.init(name: FormData.draftField, value: "\(draftNumber)")] : []
    }

    /// The form, under the review if there is one.
    func page(_ form: Form, review: [Section] = []) -> PageView {
        var page = PageView(schedule == nil ? "Compose" : "Change a schedule", in: application)
        if let schedule {
            page.crumbs.append(Link("Schedules", Address.of(application, "schedules")))
            page.crumbs.append(
                Link(
                    schedule.pushRequest.content.summary, Address.of(application, "schedules", schedule.key.id)))
        }
        var form = form
        (form.draft, form.aside) = (draftAddress("draft"), draftAddress("aside"))
        form.hidden += draftFields
        page.sections = review + [Section(review.isEmpty ? "" : "Send it, or change it") { form }]
        return page
    }

    /// The address of something that concerns the draft of this form.
    func draftAddress(_ what: String) -> String {
        schedule.map { Address.of(application, "schedules", $0.key.id, what) }
            ?? Address.of(application, "compose", what)
    }

    // MARK: Audience

    /// The device that the person names for a test.
    func ownDevice(named text: String) async throws -> Device {
        let field = "my_device"
        guard !text.isEmpty else {
            throw InvalidInput(field: field, "is empty: which device is yours? Its UUID or its alias is enough")
        }
        if let uuid = UUID(text: text) {
            guard let found = try await visit.services.store.device(uuid, of: application.key) else {
                throw InvalidInput(field: field, "is no device of this application")
            }
            return found.device
        }
        var filter = DeviceFilter()
        filter.isActive = true
        let search = DeviceSearch(platforms: platforms.map(\.key), text: text, filter: filter)
        let found = try await visit.searching(application) {
            try await visit.services.store.devices(search, after: nil, limit: 100)
        }
        let named = found.filter { $0.about.alias?.caseFolded == text.asName.caseFolded }
        guard let device = named.count == 1 ? named.first : found.count == 1 ? found.first : nil else {
            throw InvalidInput(
                field: field, found.isEmpty ? "fits no device" : "fits several devices: give the UUID of one")
        }
        return device
    }

    /// The newest lines of the application's audit log that are looked through for the device of the last test.
    private static let auditLines = 1_000

    /// The device that this person sent the last test of this application to; nil when there is none.
    func rememberedDevice() async throws -> String? {
        let lines = try await visit.services.store.auditLog(
            AuditQuery(bounds: .application(application.key, of: application.tenantKey), limit: Self.auditLines))
        let author = visit.person.email.text
        return lines.first { $0.change.action == "device.test_push" && $0.change.keyID == author }?.change.subject
    }

    /// The devices that a geofence is for, by the boxes of the form.
    func fencePlatform(_ form: FormData) throws(InvalidInput) -> GeofencePlatform {
        let chosen = self.form.kinds.filter { form.isChecked("on-\($0.rawValue)") }
        guard !chosen.isEmpty else { return .all }
        let meant = GeofencePlatform.allCases.first { self.form.kinds.filter($0.includes) == chosen }
        guard let meant else {
            throw InvalidInput(field: "audience", "at a place is for all platforms, iOS alone, or Android alone")
        }
        return meant
    }
}

/// The first devices that a push would go to.
enum AudienceSample {
    static let size = 5

    static func of(_ push: NewPush, in store: any Store) async throws -> [Device] {
        var devices: [Device] = []
        for platform in push.platformKeys where devices.count < size {
            for key in try await keys(push, on: platform, in: store).prefix(size - devices.count) {
                // The next device after the one before it is the device itself.
                let found = try await store.devices(
                    DeviceSearch(platforms: [platform]), after: Key(key.rawValue - 1), limit: 1)
                if let device = found.first, device.key == key { devices.append(device) }
            }
        }
        return devices
    }

    private static func keys(
        _ push: NewPush, on platform: Key<Platform>, in store: any Store
    ) async throws -> [Key<Device>] {
        if let placed = push.devices { return placed[platform] ?? [] }
        return try await store.firstDevices(
            of: push.audience, on: platform, atMost: size, by: .now + .milliseconds(200))
    }
}

/// How many devices a push would go to now.
struct AudienceCount: Sendable {
    let devices: Int
    /// Whether counting stopped before the end.
    let isMore: Bool
    /// The devices of each platform that was counted.
    var byPlatform: [Key<Platform>: Int] = [:]

    /// Devices counted before it stops, so that a count costs little whatever the audience.
    private static let devicesMax = 200_000
    /// The number of devices from which a person is asked once more.
    private static let large = 1_000
    private static let step = 10_000
    private static let time = Duration.milliseconds(200)

    /// A count that stopped may be of any size.
    var isLarge: Bool { isMore || devices >= Self.large }
    var isNone: Bool { devices == 0 && !isMore }

    var words: String {
        if isMore, devices == 0 { return "devices that took too long to count" }
        return (isMore ? "more than " : "") + devices.grouped + (devices == 1 && !isMore ? " device" : " devices")
    }

    /// The number on a platform, as far as it was counted.
    func words(on platform: Key<Platform>) -> String {
        guard let count = byPlatform[platform] else { return isMore ? "not counted" : "0 devices" }
        // Platforms are counted in the order of their keys.
        return AudienceCount(devices: count, isMore: isMore && platform == byPlatform.keys.max()).words
    }

    func with(_ more: Int) -> AudienceCount { AudienceCount(devices: devices + more, isMore: isMore) }

    static func of(_ push: NewPush, in store: any DeliveryStore) async throws -> AudienceCount {
        if let placed = push.devices {
            return AudienceCount(placed.mapValues(\.count), isMore: false)
        }
        let deadline = ContinuousClock.now + time
        var counts: [Key<Platform>: Int] = [:]
        for platform in push.platformKeys {
            var after: Key<Device>?
            while true {
                let slice = try await store.slice(of: push.audience, on: platform, after: after, limit: step)
                counts[platform, default: 0] += slice.devices.count
                guard let end = slice.end else { break }
                after = end
                guard counts.values.reduce(0, +) < devicesMax, ContinuousClock.now < deadline else {
                    return AudienceCount(counts, isMore: true)
                }
            }
        }
        return AudienceCount(counts, isMore: false)
    }
}

extension AudienceCount {
    private init(_ byPlatform: [Key<Platform>: Int], isMore: Bool) {
        self.init(devices: byPlatform.values.reduce(0, +), isMore: isMore, byPlatform: byPlatform)
    }
}

/// A file of device UUIDs that was uploaded as an audience.
enum DeviceFile {
    /// The form with the file's UUIDs in the place of names, so that they are kept from page to page; with a fault, the form as it is.
    static func merged(into form: FormData) -> (FormData, InvalidInput?) {
        guard let bytes = form.file("device_file") else { return (form, nil) }
        var merged = form
        do throws(InvalidInput) {
            let names = try read(bytes)
            let typed = form.list("names")
            guard typed.isEmpty || form["audience"] == "devices" else {
                throw InvalidInput(
                    field: "names", "is filled in, and the file of devices leaves it out: choose one of them")
            }
            merged.put("audience", "devices")
            merged.put("names", (typed + names).withoutRepeats.joined(separator: "\n"))
        } catch {
            return (form, error)
        }
        return (merged, nil)
    }

    /// Reads one UUID a line, or the first column of a CSV, which may have a header.
    private static func read(_ bytes: ArraySlice<UInt8>) throws(InvalidInput) -> [String] {
        var names: [String] = []
        for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let cell = String(
                decoding: line.prefix { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: ";") }, as: UTF8.self)
            let text = cell.replacing("\"", with: "").replacing("\u{FEFF}", with: "").trimmed
            guard let uuid = UUID(text: text) else {
                let isHeader = index == 0 && line.count < 200 && !text.allSatisfy { $0.isHexDigit || $0 == "-" }
                if isHeader || text.isEmpty { continue }
                throw InvalidInput(
                    field: "device_file", "has '\(text.prefix(60))' in line \(index + 1), which is no device UUID")
            }
            names.append(uuid.lowercased)
            guard names.count <= PushLimits.devicesMax else {
                throw InvalidInput(
                    field: "device_file", "has more than \(PushLimits.devicesMax.grouped) devices, which is the limit")
            }
        }
        guard !names.isEmpty else { throw InvalidInput(field: "device_file", "has no device UUID") }
        return names
    }
}
