// The part of CoreLocation that BelfryKit uses, written from Apple's documentation.
import Foundation

public struct CLLocationCoordinate2D: Sendable {
    public var latitude: Double
    public var longitude: Double
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }
}

public final class CLLocation: Sendable {
    public var coordinate: CLLocationCoordinate2D { CLLocationCoordinate2D(latitude: 0, longitude: 0) }
}

public protocol CLCondition: Sendable {}

public actor CLMonitor {
    public init(_ name: String) async {}

    public struct CircularGeographicCondition: CLCondition {
        public init(center: CLLocationCoordinate2D, radius: Double) {}
    }

    public struct Event: Sendable {
        public enum State: Sendable { case unknown, satisfied, unsatisfied, unmonitored }
        public let identifier: String
        public let state: State
    }

    public var identifiers: [String] { [] }
    public var events: AsyncThrowingStream<Event, any Error> { AsyncThrowingStream { $0.finish() } }
    public func add(
        _ condition: any CLCondition, identifier: String, assuming state: CLMonitor.Event.State = .unknown
    ) {}
    public func remove(_ identifier: String) {}
}
