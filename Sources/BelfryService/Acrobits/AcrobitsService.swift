package import FoundationEssentials

/// Registers the tokens that Acrobits' softphones report, and sends the messages of their back ends to the mediator.
package struct AcrobitsService: Sendable {
    let store: any Store
    let pushes: PushService
    let clock: any WallClock
    let late = LateVerdicts()

    /// The result of a report.
    package enum Result: String, Sendable, Hashable, CaseIterable {
        case stored
        /// It named no token: the stored tokens stay.
        case unchanged
        /// No platform takes its tokens with its app ids.
        case unknown
    }

    /// Registers the tokens of a report, each with the platform of its app id.
    package func take(_ report: AcrobitsReport, for application: Application) async throws -> Result {
        guard !report.pairs.isEmpty else { return .unchanged }
        let appIDs = try await store.acrobitsAppIDs(of: application.key)
        var result = Result.unknown
        for (pair, isForCalls) in [(report.calls, true), (report.other, false)] {
            guard let pair else { continue }
            let place = try await place(of: pair, isForCalls: isForCalls, among: appIDs)
            guard let place, let token = try? pair.token.deviceToken(for: place.platform.kind) else { continue }
            try await register(token, pair.token.text, report, on: place.platform, place.appID)
            result = .stored
        }
        return result
    }

    private func register(
        _ token: DeviceToken, _ text: String, _ report: AcrobitsReport, on platform: Platform, _ appID: String
    ) async throws {
        let old = try await registration(of: report.selector, appID, platform.applicationKey)
        try await store.register(
            try registration(token, account: report.account), as: try await name(for: token, old, on: platform),
            on: platform, insteadOf: old
        ) { device in
            report.selector.map { selector in
                AcrobitsRegistration(
                    applicationKey: platform.applicationKey, appID: appID, selector: selector, token: text,
                    platformKey: platform.key, device: device, account: report.account)
            }
        }
    }

    private func registration(_ token: DeviceToken, account: String?) throws -> Registration {
        let user = account.flatMap { try? User.checked(id: $0) }
        return try Registration(
            token: token, about: Device.About(), customUserID: user.map { .set($0) } ?? .keep, topics: .keep)
    }

    private func registration(
        of selector: String?, _ appID: String, _ application: Key<Application>
    ) async throws -> AcrobitsRegistration? {
        guard let selector else { return nil }
        return try await store.acrobitsRegistrations(selector: selector, of: application).first { $0.appID == appID }
    }

    /// The device that gets a new token: the device of the account, unless other accounts use it or the token is known already.
    private func name(
        for token: DeviceToken, _ old: AcrobitsRegistration?, on platform: Platform
    ) async throws -> UUID? {
        guard let old, old.platformKey == platform.key,
            try await store.holders(of: [token], on: platform.key)[token] == nil
        else { return nil }
        let ofDevice = try await store.acrobitsRegistrations(device: old.device, of: old.applicationKey)
        return ofDevice.allSatisfy { $0.selector == old.selector } ? old.device : nil
    }

    /// Deletes an account on a device. Devices without an account are deactivated.
    package func remove(_ report: AcrobitsReport, of application: Application) async throws {
        guard let selector = report.selector else { return }
        let registrations = try await store.acrobitsRegistrations(selector: selector, of: application.key)
        try await store.deleteAcrobitsRegistrations(selector: selector, of: application.key, retiring: registrations)
    }

    /// Counts the push that a report of its arrival names; returns false where it names no push of the account.
    package func noteArrival(_ report: AcrobitsReport, of application: Application) async throws -> Bool {
        guard let selector = report.selector, let id = report.pushID.flatMap({ UUID(text: $0) }),
            let push = try await store.receipt(id)?.push, push.applicationKey == application.key
        else { return false }
        for registration in try await store.acrobitsRegistrations(selector: selector, of: application.key) {
            guard let platform = try await store.platform(registration.platformKey),
                let device = try await store.device(registration.device, on: platform.key),
                try await store.answer(of: device.key, in: push.key) != nil
            else { continue }
            let event = AnalyticsEvent(kind: .received, time: clock.now, device: device.uuid, receiptID: id)
            _ = try await store.record([event], on: platform, lateMax: .seconds(86_400))
            return true
        }
        return false
    }
}

extension AcrobitsService {
    /// A platform, and the app id that leads to it.
    struct Place: Sendable {
        let platform: Platform
        let appID: String
        let payload: AcrobitsPayloadTemplate?
    }

    /// The platform of an app id whose tokens are of the pair's kind. A pair without an app id belongs to the only one that fits.
    private func place(
        of pair: AcrobitsReport.Pair, isForCalls: Bool, among appIDs: [AcrobitsAppID]
    ) async throws -> Place? {
        let named = appIDs.filter { pair.appID == nil || $0.name == pair.appID }
        let fitting = try await places(named, for: pair.token)
        guard pair.appID == nil, fitting.count > 1 else { return fitting.first }
        let ofUse = fitting.filter { ($0.platform.kind == .apple(.voip)) == isForCalls }
        return ofUse.count == 1 ? ofUse.first : nil
    }

    func places(_ appIDs: [AcrobitsAppID], for token: AcrobitsToken) async throws -> [Place] {
        var places: [Place] = []
        for appID in appIDs {
            guard let platform = try await store.platform(appID.platformKey),
                platform.kind.isReachedByAPNs == token.isApple
            else { continue }
            places.append(Place(platform: platform, appID: appID.name, payload: appID.payload))
        }
        return places
    }
}

/// An account on a softphone, and the device by which it is reached with one app id. Back ends name it when they send.
package struct AcrobitsRegistration: Sendable, Hashable {
    package let applicationKey: Key<Application>
    package let appID: String
    /// The account on a device, as the softphone names it.
    package let selector: String
    /// As it was received: back ends send it back.
    package let token: String
    package let platformKey: Key<Platform>
    package let device: UUID
    package let account: String?
    package var seenAt = Instant.zero

    /// Source: the schema of SIPIS has 64; with room to spare.
    package static let selectorBytesMax = 255
    /// The most selectors of one device: those seen last are kept.
    package static let perDevice = 64
}

/// A softphone's report on one account: its selector, and up to two tokens with their app ids.
package struct AcrobitsReport: Sendable, Hashable {
    package var account: String?
    package var selector: String?
    /// Wakes the app for incoming calls; on iOS a token of PushKit.
    package var calls: Pair?
    /// For all other pushes.
    package var other: Pair?
    /// The push that a report of its arrival names.
    package var pushID: String?

    package struct Pair: Sendable, Hashable {
        package let token: AcrobitsToken
        package let appID: String?
    }

    package init(
        account: String? = nil, selector: String? = nil, calls: Pair? = nil, other: Pair? = nil, pushID: String? = nil
    ) {
        self.account = account?.asName
        self.selector = selector?.asName
        self.calls = calls
        self.other = other
        self.pushID = pushID
    }

    package var pairs: [Pair] { [calls, other].compactMap(\.self) }
}
