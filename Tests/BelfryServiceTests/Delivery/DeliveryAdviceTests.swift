import FoundationEssentials
import Testing

@testable import BelfryService

@Suite struct DeliveryAdviceTests {
    private static let parked = ParkedPlatform(
        uuid: UUID(), name: "iPhones",
        parking: Parking(cause: .credentials, detail: "APNs answered 403 InvalidProviderToken", since: .zero))

    private func delivery(_ answer: Answer, next: DeviceDelivery.Next = .nothing) -> DeviceDelivery {
        DeviceDelivery(platform: Key(1), answer: answer, attempts: [], claims: 1, answeredAt: nil, next: next)
    }

    @Test func `a waiting device names its parked platform and the remedy`() throws {
        for delivery in [delivery(.pending, next: .attempt(at: .zero)), nil] {
            let advice = DeliveryAdvice(delivery, isActive: true, parked: Self.parked, now: .zero)
            #expect(advice.next.contains(Self.parked.uuid.lowercased) && advice.next.contains("iPhones"))
            let help = try #require(advice.help)
            #expect(help.contains("403 InvalidProviderToken") && help.contains("belfry platform credentials"))
        }
    }

    @Test func `an answer stands, whatever became of the platform since`() {
        let advice = DeliveryAdvice(delivery(.refused(.badToken)), isActive: true, parked: Self.parked, now: .zero)
        #expect(advice.next == "nothing: the device has its answer")
        #expect(advice.help?.contains("mode") == true)
        #expect(DeliveryAdvice(delivery(.accepted), isActive: true, parked: nil, now: .zero).help == nil)
    }

    @Test func `a past time is never named as the next attempt`() {
        let due = Instant(milliseconds: 1_000)
        let delivery = delivery(.pending, next: .attempt(at: due))
        func next(_ now: Instant) -> String {
            DeliveryAdvice(delivery, isActive: true, parked: nil, now: now).next
        }
        #expect(next(.zero) == "it is sent at \(due.text), again")
        #expect(next(due + .seconds(4)).hasPrefix("it is due") && !next(due + .seconds(4)).contains(due.text))
    }

    @Test func `an untrusted certificate has advice, a passing fault none`() {
        func help(_ answer: String) -> String? {
            let delivery = DeviceDelivery(
                platform: Key(1), answer: .pending, attempts: [.init(number: 1, at: .zero, answer: answer)], claims: 1,
                answeredAt: nil, next: .attempt(at: .zero))
            return DeliveryAdvice(delivery, isActive: true, parked: nil, now: .zero).help
        }
        #expect(
            help("unreachable (tls): the server's certificate is not trusted")?.contains("trust_root=@FILE") == true)
        #expect(help("503 Unavailable")?.hasPrefix("nothing yet") == true)
    }

    @Test func `a device kept active although gone says why`() {
        let active = DeliveryAdvice(delivery(.gone), isActive: true, parked: nil, now: .zero)
        #expect(active.help?.contains("stays active") == true)
        let inactive = DeliveryAdvice(delivery(.gone), isActive: false, parked: nil, now: .zero)
        #expect(inactive.help?.contains("gets a new token") == true)
        func help(_ said: String, registeredAt: Instant) -> String? {
            let delivery = DeviceDelivery(
                platform: Key(1), answer: .gone, attempts: [.init(number: 1, at: .zero, answer: said)], claims: 1,
                answeredAt: .zero + .seconds(60), next: .nothing)
            return DeliveryAdvice(delivery, isActive: true, registeredAt: registeredAt, parked: nil, now: .zero).help
        }
        let (dated, undated) = ("gone: the token is dead since x", "gone: the token is dead, since when is not said")
        #expect(help(dated, registeredAt: .zero + .seconds(61))?.contains("its app registered at") == true)
        #expect(help(dated, registeredAt: .zero)?.contains("a time before the device registered") == true)
        #expect(help(undated, registeredAt: .zero)?.hasSuffix("no time from which the token is dead") == true)
    }

    @Test(arguments: Refusal.allCases) func `every refusal has a sentence on what helps`(refusal: Refusal) {
        #expect(
            DeliveryAdvice(delivery(.refused(refusal)), isActive: true, parked: nil, now: .zero).help?.isEmpty == false)
    }

    @Test(arguments: Parking.Cause.allCases) func `every cause of parking names a command`(cause: Parking.Cause) {
        let parked = ParkedPlatform(
            uuid: UUID(), name: "x", parking: Parking(cause: cause, detail: "", since: .zero))
        #expect(parked.remedy.contains("belfry platform resume \(parked.uuid.lowercased)"))
    }
}
