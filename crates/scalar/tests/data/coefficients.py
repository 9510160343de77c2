#!/usr/bin/env python3
"""Prints the polynomial coefficients and split constants of src/math/, with their errors as powers of two.

Interpolation at Chebyshev nodes in 400 bits, coefficients rounded to doubles. Needs mpmath.
"""

from mpmath import mp, mpf, exp, log, sin, cos, asin, atan, erf, erfc, pi, sqrt, taylor, chebyt, floor, ldexp
import mpmath
mp.prec=400
def cheb(f,a,b,n):
    # interpolate at n+1 Chebyshev nodes, monomial coefficients in x
    m=n+1
    xs=[(a+b)/2+(b-a)/2*mpmath.cos(pi*(2*i+1)/(2*m)) for i in range(m)]
    A=mpmath.matrix(m,m); y=mpmath.matrix(m,1)
    for i,x in enumerate(xs):
        p=mpf(1)
        for j in range(m):
            A[i,j]=p; p*=x
        y[i]=f(x)
    c=mpmath.lu_solve(A,y)
    return [c[i] for i in range(m)]
def err(f,c,a,b,w=lambda x:mpf(1)):
    cd=[mpf(float(v)) for v in c]
    worst=0
    for i in range(401):
        x=a+(b-a)*mpf(i)/400+mpf(10)**-9
        v=mpf(0)
        for k in reversed(cd): v=v*x+k
        worst=max(worst,abs((v-f(x))*w(x)))
    return mpmath.log(worst,2) if worst else -999
def arr(name,c,doc):
    print(f"/// {doc}\nconst {name}: [f64; {len(c)}] = [")
    for v in c: print(f"    {float(v)!r},")
    print("];")
def split(x,bits):
    # truncate mantissa to bits
    m,e=mpmath.frexp(x)
    return mpmath.ldexp(floor(ldexp(m,bits)),int(e)-bits)
h=log(2)/2*mpf('1.0001')
f=lambda x:(exp(x)-1-x)/x**2
c=cheb(f,-h,h*mpf('1.0007'),10); print("// exp err (rel to 1)",err(f,c,-h,h,lambda x:x*x), "rel to x", err(f,c,-h,h,lambda x:x)); arr("EXP",c,"`(e^r - 1 - r) / r^2` for |r| <= ln 2 / 2.")
z1=mpf((sqrt(2)-1)/(sqrt(2)+1))**2*mpf('1.001')
def fl(z):
    s=sqrt(z); return (log((1+s)/(1-s))-2*s)/s/z
c=cheb(fl,mpf(10)**-30,z1,6); print("// log err", err(fl,c,mpf(10)**-30,z1,lambda z:z)); arr("LOG",c,"`log((1 + s) / (1 - s)) / s - 2` divided by `z = s^2`.")
# pow tail: from 2/7
def fq(z):
    s=sqrt(z); return ((log((1+s)/(1-s))-2*s)/s/z-mpf(2)/3-mpf(2)/5*z)/z**2
c=cheb(fq,mpf(10)**-20,z1,6); print("// pow tail err", err(fq,c,mpf(10)**-20,z1,lambda z:z**3)); arr("POW_TAIL",c,"tail")
zs=(pi/4)**2*mpf('1.001')
fs=lambda z:(sin(sqrt(z))/sqrt(z)-1)/z
c=cheb(fs,mpf(10)**-30,zs,6); print("// sin", err(fs,c,mpf(10)**-30,zs,lambda z:z)); arr("SIN",c,"`(sin(x) / x - 1) / x^2`, a polynomial in `x^2`, for |x| <= pi / 4.")
fc=lambda z:(cos(sqrt(z))-1+z/2)/z**2
c=cheb(fc,mpf(10)**-30,zs,6); print("// cos", err(fc,c,mpf(10)**-30,zs,lambda z:z**2)); arr("COS",c,"`(cos(x) - 1 + x^2 / 2) / x^4`, a polynomial in `x^2`, for |x| <= pi / 4.")
fa=lambda z:(asin(sqrt(z))/sqrt(z)-1)/z
c=cheb(fa,mpf(10)**-30,mpf('0.2501'),13); print("// asin", err(fa,c,mpf(10)**-30,mpf('0.2501'),lambda z:z)); arr("ASIN",c,"`(asin(x) / x - 1) / x^2`, a polynomial in `x^2`, for |x| <= 1/2.")
ft=lambda z:(atan(sqrt(z))/sqrt(z)-1)/z
zt=mpf(7)/16; zt=zt*zt*mpf('1.001')
c=cheb(ft,mpf(10)**-30,zt,11); print("// atan", err(ft,c,mpf(10)**-30,zt,lambda z:z)); arr("ATAN",c,"`(atan(x) / x - 1) / x^2`, a polynomial in `x^2`, for |x| <= 7/16.")
fe=lambda z:erf(sqrt(z))/sqrt(z)-1
c=cheb(fe,mpf(10)**-30,mpf('0.2501'),10); print("// erf small", err(fe,c,mpf(10)**-30,mpf('0.2501'))); arr("ERF_SMALL",c,"`erf(x) / x - 1`, a polynomial in `x^2`, for |x| <= 1/2.")
rows=[]
for i in range(11):
    m=mpf(i)/2+mpf(3)/4
    g=lambda t,m=m:(erf(m+t)-erf(m))/t
    a=mpf('0.25')
    c=cheb(g,-a,a*mpf('1.001'),13)
    print("// seg",i,err(g,c,-a,a,lambda t:t))
    hi=mpf(float(erf(m))); lo=erf(m)-hi
    rows.append([hi,lo]+c)
print(f"const ERF: [[f64; {len(rows[0])}]; 11] = [")
for r in rows:
    print("    [");
    for v in r: print(f"        {float(v)!r},")
    print("    ],")
print("];")
def show(n,x): print(f"const {n}: f64 = {float(x)!r};")
l=log(2); a=split(l,32); show("LN2_HI",a); show("LN2_LO",l-a)
show("LN2_REST", l-mpf(float(l)))
iv=1/log(2); a=split(iv,21); show("INV_LN2_HI",a); show("INV_LN2_LO",iv-a)
iv=1/log(10); a=split(iv,21); show("INV_LN10_HI",a); show("INV_LN10_LO",iv-a)
iv=log(2)/log(10); a=split(iv,40); show("LOG10_2_HI",a); show("LOG10_2_LO",iv-a)
for n,v in (("TWO_THIRDS",mpf(2)/3),("TWO_FIFTHS",mpf(2)/5)):
    show(n+"_HI",mpf(float(v))); show(n+"_LO",v-mpf(float(v)))
r=pi/2
for i in range(3):
    a=split(r,33); show(f"PIO2_{i+1}",a); r-=a
show("PIO2_4",r)
show("PIO2_LO",pi/2-mpf(float(pi/2))); show("PI_LO",pi-mpf(float(pi)))
for v in (0.5,1,1.5):
    q=atan(mpf(v)); show(f"ATAN_{v}_HI",q); show(f"ATAN_{v}_LO",q-mpf(float(q)))
mp.prec=2000
t=floor(ldexp(2/pi,64*19)); t=int(t)
print("const TWO_OVER_PI: [u64; 20] = [0,")
for i in range(19):
    print("    0x%016x,"%((t>>(64*(18-i)))&(2**64-1)))
print("];")
