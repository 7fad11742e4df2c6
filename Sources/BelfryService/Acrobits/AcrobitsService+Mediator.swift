import FoundationEssentials

extension AcrobitsService {
    /// The result of a message to the mediator.
    package enum Verdict: Sendable, Hashable {
        case sent(Push)
        /// The provider said that the token is dead.
        case dead(Key<Application>)
        /// No platform takes tokens like this one with the app id.
        case unknownAppID
    }

    /// A message with the platforms that it may be for.
    package struct Route: Sendable {
        let call: AcrobitsCall
        let places: [Place]

        /// The applications that have the app id: the message is charged to them.
        package var applications: Set<Key<Application>> { Set(places.map(\.platform.applicationKey)) }
    }

    /// - Parameter applications: the applications whose mediator serves the caller.
    package func route(_ call: AcrobitsCall, among applications: Set<Key<Application>>) async throws -> Route {
        let appIDs = try await store.acrobitsAppIDs(named: call.appID)
        let own = appIDs.filter { applications.contains($0.applicationKey) }
        return Route(call: call, places: try await places(own, for: call.token))
    }

    /// Accepts a back end's request as an urgent push. A token that no softphone reported here is registered first: the back end
    /// may have kept it for long.
    package func send(_ route: Route) async throws -> Verdict {
        let (call, places) = (route.call, route.places)
        var dead: Key<Application>?
        for place in places {
            guard let token = try? call.token.deviceToken(for: place.platform.kind) else { continue }
            let holder = try await store.holders(of: [token], on: place.platform.key)[token]
            if let holder {
                if holder.isActive { return .sent(try await send(call, to: holder.uuid, place)) }
                dead = place.platform.applicationKey
            }
        }
        if let dead { return .dead(dead) }
        // An unknown token does not show which of several applications it belongs to.
        guard let place = places.first, route.applications.count == 1 else { return .unknownAppID }
        let token = try call.token.deviceToken(for: place.platform.kind)
        let registration = try Registration(
            token: token, about: Device.About(), customUserID: .keep, topics: .keep)
        let device = try await store.register(registration, as: nil, on: place.platform)
        return .sent(try await send(call, to: device.uuid, place))
    }

    private func send(_ call: AcrobitsCall, to device: UUID, _ place: Place) async throws -> Push {
        let payload = AcrobitsPayload(call, template: place.payload)
        let content = try payload.content(for: place.platform.kind)
        // It goes to this platform alone, whatever others could take.
        try content.check(for: [place.platform.kind], receiptID: device)
        let request = PushRequest(
            content: content, target: try Target(devices: [device]),
            lane: .urgent, expiresAt: clock.now + payload.timeToLive)
        return try await pushes.send(request, for: place.platform.applicationKey)
    }
}
