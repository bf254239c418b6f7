/* What linkage finds in noise. The largest contrast that average linkage shows in a network of
 * one switch grows with the number of hosts, because linkage chooses among all subsets: a test
 * for one given split would find thousands of false ones. */
#include "work.h"

double nt_null_limit(size_t n, size_t smaller)
{
    double k = log2((double)smaller);
    return 3.5 + 1.0 * log2((double)n) - 0.0 * k;
}
