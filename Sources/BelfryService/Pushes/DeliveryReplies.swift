import FoundationEssentials

// Replies of the admin API about why a device got a push or did not.

extension Admin {
    /// A platform that nothing is sent on at present.
    package struct ParkedPlatformReply: Codable, Sendable {
        package let platform_uuid: String
        package let platform_name: String
        package let cause: String
        package let detail: String
        package let since: String
        /// When its credentials are tried again; null where an operator has to act.
        @OrNull package var next_probe_at: String?
        /// The commands that help.
        package let remedy: String

        package init(_ platform: ParkedPlatform) {
            platform_uuid = platform.uuid.lowercased
            platform_name = platform.name
            cause = platform.parking.cause.rawValue
            detail = platform.parking.detail
            since = platform.parking.since.text
            _next_probe_at = OrNull(wrappedValue: platform.parking.probe?.at.text)
            remedy = platform.remedy
        }
    }

    /// Names of a push's target that no device has.
    package struct UnmatchedReply: Codable, Sendable {
        /// The first of the devices.
        package let devices: [String]
        package let device_count: Int
        package let topics: [String]
        package let custom_user_ids: [String]

        package init(_ names: UnresolvedTargets) {
            devices = names.devices.uuids.map(\.lowercased)
            device_count = names.devices.count
            topics = names.topics
            custom_user_ids = names.customUserIDs
        }

        package var isEmpty: Bool { device_count == 0 && topics.isEmpty && custom_user_ids.isEmpty }
    }

    /// How far a push has come for one device.
    package struct DeviceAnswerReply: Codable, Sendable {
        package let device_uuid: String
        package let answer: String
        package let platform_uuid: String
        package let platform_type: String
        package let platform_name: String
        /// Whether the device gets pushes at present.
        package let is_active: Bool
        /// How often its batch was taken up.
        package let attempt_count: Int64
        /// The last attempts that did not end at once, oldest first.
        package let attempts: [Attempt]
        /// When the first device of its batch was answered.
        @OrNull package var answered_at: String?
        @OrNull package var next_attempt_at: String?
        /// The next step, as a sentence.
        package let next: String
        /// Advice for a person, as a sentence.
        @OrNull package var help: String?

        /// An attempt and its answer.
        package struct Attempt: Codable, Sendable {
            package let number: Int64
            package let at: String
            package let answer: String
        }

        /// - Parameter delivery: nil while the push's audience is still being looked up.
        package init(
            _ device: Device, on platform: BelfryService.Platform, _ delivery: DeviceDelivery?, nodes: NodeTrouble,
            now: Instant
        ) {
            let advice = DeliveryAdvice(
                delivery, isActive: device.isActive, registeredAt: device.lastSeenAt, parked: ParkedPlatform(platform),
                nodes: nodes, now: now)
            device_uuid = device.uuid.lowercased
            answer = (delivery?.answer ?? .pending).name
            platform_uuid = platform.uuid.lowercased
            platform_type = platform.kind.rawValue
            platform_name = platform.name
            is_active = device.isActive
            attempt_count = delivery?.claims ?? 0
            attempts =
                delivery?.attempts.map { Attempt(number: $0.number, at: $0.at.text, answer: $0.answer) } ?? []
            _answered_at = OrNull(wrappedValue: delivery?.answeredAt?.text)
            let nextAt: Instant? = if case .attempt(let at)? = delivery?.next { at } else { nil }
            _next_attempt_at = OrNull(wrappedValue: platform.parked == nil ? nextAt?.text : nil)
            next = advice.next
            _help = OrNull(wrappedValue: advice.help)
        }
    }
}
