import BelfryTesting
import Testing

/// Source: the outputs of the reference `splitmix64.c` for the seed 1234567, as Rosetta Code has them.
@Suite struct SplitMix64Tests {
    @Test func `the sequence is that of the reference`() {
        var random = SplitMix64(seed: 1_234_567)
        #expect(
            (0..<5).map { _ in random.next() } == [
                6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
                4_593_380_528_125_082_431, 16_408_922_859_458_223_821,
            ])
    }

    @Test func `fractions are below one, and draws within their range`() {
        var random = SplitMix64(seed: 1)
        for _ in 0..<10_000 {
            #expect((0..<1).contains(random.fraction()))
            #expect((3...7).contains(random.draw(3...7)))
        }
    }
}
