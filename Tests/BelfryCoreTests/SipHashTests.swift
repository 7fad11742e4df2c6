import BelfryCore
import Testing

@Suite struct SipHashTests {
}
