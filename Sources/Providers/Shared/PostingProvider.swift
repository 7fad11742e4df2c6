import BelfryService
import Logging
import NIOSSL
package import Outbound
import Synchronization

/// A provider that is posted to over shared connections, so that it has none of its own to look after.
protocol PostingProvider: DrainableProvider {
    var inFlight: InFlightDevices { get }
    /// Whether `deliver` fills placeholders by itself. For others the push is rendered for each group of devices that get the same.
    static var splices: Bool { get }

    /// Throws `InvalidInput`, or the error of the client's message, when the push cannot be rendered; nil when it has
    /// nothing for such a device.
    func deliver(_ push: Push, to recipients: [Recipient]) async throws -> [Outcome]?
}

extension PostingProvider {
    static var splices: Bool { false }

    var room: Int { inFlight.room }

    func send(_ push: Push, to recipients: [Recipient]) async -> [Outcome] {
        inFlight.take(recipients.count)
        defer { inFlight.take(-recipients.count) }
        do {
            if push.content.variesInText, !Self.splices { return try await deliverFilled(push, to: recipients) }
            return try await deliver(push, to: recipients) ?? recipients.map { _ in .refused(.payloadEmpty) }
        } catch {
            return Outcome.refusals(of: push, recipients, error, inFlight.logger)
        }
    }

    /// Renders the push for each group of devices that get the same.
    private func deliverFilled(_ push: Push, to recipients: [Recipient]) async throws -> [Outcome] {
        let placeholders = try push.content.placeholders()
        let empty = PersonalizedValues(PersonalizedValues.Values())
        let groups = Dictionary(grouping: recipients.indices) { place in
            placeholders.map { (recipients[place].filling ?? empty).text(of: $0) }
        }
        return await withTaskGroup(of: ([Int], [Outcome]).self) { tasks in
            for places in groups.values {
                tasks.addTask {
                    let group = places.map { recipients[$0] }
                    let filling = group.first?.filling ?? empty
                    return (places, await self.deliver(push, filledWith: filling, to: group))
                }
            }
            var outcomes = [Outcome](repeating: .refused(.other), count: recipients.count)
            for await (places, own) in tasks {
                for (place, outcome) in zip(places, own) { outcomes[place] = outcome }
            }
            return outcomes
        }
    }

    /// Delivers a push with its values filled in. The rendered push was checked at acceptance, except for the length of these values.
    /// A counted badge stays a count, as in a push without placeholders: the devices of a group have different numbers.
    private func deliver(
        _ push: Push, filledWith filling: PersonalizedValues, to recipients: [Recipient]
    ) async -> [Outcome] {
        do {
            var filled = push
            filled.content = try push.content.filledTexts(with: filling)
            return try await deliver(filled, to: recipients) ?? recipients.map { _ in .refused(.payloadEmpty) }
        } catch {
            inFlight.logger.debug(
                "push is too large for a device", metadata: ["push.key": "\(push.key)", "error": "\(error)"])
            return recipients.map { _ in .refused(.payloadTooLarge) }
        }
    }

    func retire() async {}

    func shutdown(within deadline: Duration) async {}
}

extension Outcome {
    /// The outcomes of a push that cannot be rendered. One that is too large for this platform was accepted for others.
    static func refusals(
        of push: Push, _ recipients: [Recipient], _ error: any Error, _ logger: Logger
    ) -> [Outcome] {
        let isTooLarge = (error as? InvalidInput)?.isTooLarge ?? false
        logger.log(
            level: isTooLarge ? .debug : .error, "push cannot be rendered",
            metadata: ["push.key": "\(push.key)", "error": "\(error)"])
        return recipients.map { _ in .refused(isTooLarge ? .payloadTooLarge : .other) }
    }
}

/// The number of devices that a provider is sending to.
final class InFlightDevices: Sendable {
    let logger: Logger
    private let devicesMax: Int
    private let busy = Mutex(0)

    /// - Parameter devicesMax: a few batches: more wait in the database, where an urgent one overtakes them.
    init(devicesMax: Int = 4 * Batch.devicesMax, logger: Logger) {
        self.devicesMax = devicesMax
        self.logger = logger
    }

    var room: Int { max(devicesMax - busy.withLock { $0 }, 0) }

    func take(_ count: Int) { busy.withLock { $0 += count } }
}

/// The operator's options for providers that get one request for each device.
package struct PostingOptions: Sendable {
    /// How long one batch may take, from the first byte to the last answer.
    package var deadline = Duration.seconds(30)
    /// How many connections a host gets that speaks HTTP/1.1, and so how many requests of it are under way at a time.
    package var connectionsPerHost = 64
    /// How many connections all hosts have together, for each route out of this process.
    package var connectionsMax = 512
    /// Private addresses that may be posted to although a device or a tenant names them.
    package var allowed: [AddressBlock] = []

    package init() {}

    /// Allows addresses or blocks of them.
    ///
    /// - Parameter onFault: called with each text that is neither.
    package mutating func allow(_ texts: [String], onFault: (String) -> Void) {
        allowed = texts.compactMap { text in
            let block = AddressBlock(text)
            if block == nil { onFault(text) }
            return block
        }
    }
}

/// Connects to the hosts that devices name, exactly as a push does.
struct HostCheck: Sendable {
    let outbound: Outbound
    let tls: TLSConfiguration?

    /// The deadline for one host.
    private static let deadline = Duration.seconds(5)
    private static let hostsMax = 3

    /// `reached` when one of the hosts answers: a device may name a host that cannot be reached.
    ///
    /// - Parameters:
    ///   - origins: `https://host` or `https://host:port`, of some devices.
    ///   - unasked: the verdict when there are none.
    func test(_ origins: [String], reached: CredentialsTest, unasked: CredentialsTest) async -> CredentialsTest {
        var faults: [String] = []
        for origin in Set(origins).sorted().prefix(Self.hostsMax) {
            guard let fault = await outbound.reach("\(origin)/", tls: tls, deadline: Self.deadline) else {
                return reached
            }
            faults.append("\(origin) cannot be reached: \(fault)\(advice(on: fault))")
        }
        return faults.isEmpty ? unasked : .unknown(faults.joined(separator: "; "))
    }

    private func advice(on fault: OutboundFault) -> String {
        fault.code == .addressRefused ? "; providers.addresses.allow lets it be posted to" : ""
    }

    /// The part of a channel's URI that names its host.
    static func origin(of uri: String) -> String? {
        let parts = uri.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count >= 3, parts[1].isEmpty, !parts[2].isEmpty else { return nil }
        return "\(parts[0])//\(parts[2].prefix { $0 != "?" && $0 != "#" })"
    }
}

/// The recipients whose message is not too large, with the payload of each where those differ, and where they stand among all.
struct RenderedRecipients {
    let recipients: [Recipient]
    /// Payloads, one for each of the recipients; nil where all get the same.
    let payloads: [[UInt8]]?
    private let places: [Int]
    private let count: Int

    /// - Parameters:
    ///   - template: nil where all get the same.
    ///   - payload: returns nil where it would be too large.
    init(
        _ recipients: [Recipient], _ template: PayloadTemplate?,
        payload: (PayloadTemplate, PersonalizedValues) -> [UInt8]?
    ) {
        count = recipients.count
        guard let template else {
            self.recipients = recipients
            payloads = nil
            places = []
            return
        }
        var fitting: [Recipient] = []
        var payloads: [[UInt8]] = []
        var places: [Int] = []
        let empty = PersonalizedValues(PersonalizedValues.Values())
        for (place, recipient) in recipients.enumerated() {
            guard let own = payload(template, recipient.filling ?? empty) else { continue }
            fitting.append(recipient)
            payloads.append(own)
            places.append(place)
        }
        self.recipients = fitting
        self.payloads = payloads
        self.places = places
    }

    /// One outcome for each recipient, from those of the ones that were sent to.
    func outcomes(_ outcomes: [Outcome]) -> [Outcome] {
        guard payloads != nil else { return outcomes }
        var all = [Outcome](repeating: .refused(.payloadTooLarge), count: count)
        for (place, outcome) in zip(places, outcomes) { all[place] = outcome }
        return all
    }
}

/// The recipients of a batch whose tokens are addresses, and their positions in it.
struct ParsedRecipients<Address> {
    let addresses: [Address]
    private let places: [Int]
    private let count: Int

    init(_ recipients: [Recipient], _ address: (Recipient) throws -> Address) {
        var addresses: [Address] = []
        var places: [Int] = []
        for (place, recipient) in recipients.enumerated() {
            guard let address = try? address(recipient) else { continue }
            addresses.append(address)
            places.append(place)
        }
        self.addresses = addresses
        self.places = places
        count = recipients.count
    }

    /// Picks the values of the recipients with addresses.
    ///
    /// - Parameter values: one for each recipient.
    func addressed<Value>(_ values: [Value]) -> [Value] { places.map { values[$0] } }

    /// One outcome for each recipient; a token that is not an address is a bad one.
    func outcomes(_ outcomes: [Outcome]) -> [Outcome] {
        var all = Array(repeating: Outcome.refused(.badToken), count: count)
        for (place, outcome) in zip(places, outcomes) { all[place] = outcome }
        return all
    }
}

extension Recipient {
    /// The token as text.
    var text: String { String(decoding: token.bytes, as: UTF8.self) }
}

extension Push {
    /// Whole seconds until it expires; nil without an expiry.
    func lifetime(at now: Instant) -> Int? {
        expiresAt.map { Int(max(($0 - now).milliseconds, 0) / 1_000) }
    }

    /// How long providers may store the push, in whole seconds from now; nil leaves it to them.
    func secondsToLive(at now: Instant, max: Int64) -> Int64? {
        expiresAt.map { min(Swift.max(0, ($0 - now).components.seconds), max) }
    }
}
