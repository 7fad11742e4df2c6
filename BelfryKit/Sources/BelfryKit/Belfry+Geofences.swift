import Foundation

extension Belfry {
    /// The most places that iOS watches for an app.
    public static let placesMax = 20

    /// Asks for the changes since the last time.
    public func updateGeofences() async throws(BelfryError) {
        try checkHold()
        let answer: [String: JSON]
        do throws(BelfryError) {
            answer = try await client.geofences(since: state.geofences.stamp, device: state.device)
        } catch {
            try noteHold(of: error)
            throw error
        }
        let before = state.geofences.known
        try change { $0.geofences.take(answer) }
        if before != state.geofences.known { tell(.geofencesChanged) }
    }

    /// The places to watch now: the nearest of those that concern this device. There are none before the app has registered, nor after
    /// ``unregister()``.
    public func nearestPlaces(
        latitude: Double, longitude: Double, count: Int = placesMax
    ) -> [(geofence: Geofence, location: Geofence.Location)] {
        guard let wish = state.wish else { return [] }
        return state.geofences.nearest(
            count, toLatitude: latitude, longitude: longitude, topics: wish.topics, now: clock())
    }

    /// Notes that the device entered or left a place. The answer is what to show, once for each place; nil for nothing.
    public func triggered(
        geofence id: Int64, location: Int64, by trigger: Geofence.Trigger
    ) throws(BelfryError) -> Geofence? {
        // The system watches a place until the app tells it other ones.
        guard let wish = state.wish, let geofence = state.geofences.known[id],
            geofence.concerns(wish.topics, at: clock()), geofence.trigger == trigger
        else { return nil }
        var isFirst = false
        try change { state in
            isFirst = state.geofences.use(id, at: location)
            guard isFirst else { return }
            state.note(
                StoredEvent(
                    kind: .geofenceTriggered, geofence: id, location: location, time: clock(), device: state.device))
        }
        return isFirst ? geofence : nil
    }
}
